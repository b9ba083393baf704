"""NAME_column(table, x, in, len): X = GHASH continued over a column of a message in rows.

This is the interleaved split of a message between threads
(papers/kryptus-parallel-ghash-contiguous,
section 2; D. A. McGrew and J. Viega, The Galois/Counter Mode of Operation, 2005). The blocks are
arranged in rows of n = `columns` blocks, and len is a whole number of rows. The function takes the
first block of each row, so column t of a message begins at in + 16·t. A step down a column is n
blocks of the message, so the table is that of G = H^n, which `power` computes and `init` expands:

    X = X·G^m + C_1·G^m + C_(1+n)·G^(m-1) + … + C_(1+(m-1)·n)·G        (m rows)

The other blocks are not read. One more row joins the columns. Let Y_t be the hash of column t,
from the caller's state for the first column and from 0 for the others. The hash of the m + 1 rows
is the hash of the one row Y_1 + C_1, …, Y_n + C_n from state 0 by H, because step t of it is
n - t + 1 blocks before the end.

Whole groups of rows are aggregated as in `update`. A wide register is assembled from L blocks, each
loaded separately. The remaining rows form one more group, one row in each turn, in one-lane
registers.
"""

from functools import partial

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.schemes import aggregate
from ghashgen.ir.builder import Builder, Value
from ghashgen.ir.program import Mem, VReg
from ghashgen.kernels.core import Function
from ghashgen.kernels.hash.kernel import ENTRY_BYTES, Kernel
from ghashgen.kernels.hash.parts.group import add_group, group_keys
from ghashgen.kernels.hash.parts.interface import (
    GROUP,
    entries,
    finish_group,
    key_sum,
    load_block,
    store_block,
    to_register,
)
from ghashgen.kernels.hash.parts.params import INPUT, INPUT_LENGTH, STATE, TABLE

ROW = "row"
"""Label of the loop over the rows that do not fill a group."""


def build(b: Builder, kernel: Kernel) -> None:
    """Record the function of this kernel."""
    table, x, source, length = b.params
    row = BLOCK_BYTES * kernel.columns
    group = row * kernel.blocks
    X = b.variable(load_block(b, kernel, x, name="X"), "X")
    b.branch("below", length, group, "rest")
    keys = group_keys(b, kernel, table)
    load = partial(_load, b, kernel, source)
    with b.loop(GROUP):
        b.assign(X, add_group(b, kernel, table, X, source, keys, load=load))
        b.about("")
        b.assign(source, b.gpr("gpr_add", source, group, note="next group"))
        b.assign(length, b.gpr("gpr_sub", length, group))
        b.branch("not_below", length, group, GROUP)
    b.label("rest")
    b.branch("below", length, row, "store")
    b.assign(X, _rest(b, kernel, table, X, source, length))
    b.label("store")
    b.about("")
    store_block(b, kernel, x, X)


def _load(b: Builder, kernel: Kernel, source: VReg, first: int, lanes: int) -> VReg:
    """Load the blocks of `lanes` rows, from row `first` on, in register form."""
    row = BLOCK_BYTES * kernel.columns
    out = b.load(Mem(base=source, disp=row * first), "C, bytes as in memory")
    for lane in range(1, lanes):
        block = Mem(base=source, disp=row * (first + lane))
        out = b.insert_lane(out, lane, block, lanes, f"lane {lane}: the next row's")
    return to_register(b, kernel, out, "C")


def _rest(b: Builder, kernel: Kernel, table: VReg, X: VReg, source: VReg, length: VReg) -> VReg:
    """Record the group of m rows, 1 <= m < n, of `length` bytes; return the new state."""
    row = BLOCK_BYTES * kernel.columns
    blocks = b.gpr("gpr_shr", length, kernel.columns.bit_length() - 1, note="16·m bytes are taken")
    whole = b.gpr("gpr_and", blocks, -BLOCK_BYTES)
    top = b.gpr("gpr_address", Mem(base=table, disp=ENTRY_BYTES * kernel.layout.top))
    key_at = b.gpr("gpr_minus", top, whole, note="G^m")
    # R_m is read while key_at still points at G^m.
    terms = key_sum(kernel, key_at, kernel.layout.top)
    R = None if terms is None else b.load(terms, "R_m: the key terms of G^m … G")
    names = kernel.multiplier.accumulators
    acc = {name: b.variable(b.zero(name), name) for name in names}
    with b.loop(ROW):
        b.about("C·G^i")
        A = b.xor(load_block(b, kernel, source), X, "A = X + C; X counts once")
        key = entries(kernel, key_at, kernel.layout.top)
        sums = dict[str, Value](acc)
        added = aggregate.accumulate(b, kernel.multiplier, kernel.bit_order, sums, A, key)
        for name in names:
            b.assign(acc[name], added[name])
        b.about("")
        b.emit("zero", X, note="X counts once")
        b.assign(key_at, b.gpr("gpr_add", key_at, ENTRY_BYTES, note="the next power"))
        b.assign(source, b.gpr("gpr_add", source, row, note="the next row"))
        b.assign(length, b.gpr("gpr_sub", length, row))
        b.branch("not_below", length, row, ROW)
    b.about("reduce")
    return finish_group(b, kernel, acc, R)


FUNCTION = Function(
    name="column",
    order=60,
    params=(TABLE, STATE, INPUT, INPUT_LENGTH),
    purpose=lambda kernel: (
        f"continue {kernel.definition.name} x over the first of every {kernel.columns} blocks, "
        f"by the table of H^{kernel.columns}; len is a multiple of {BLOCK_BYTES * kernel.columns}"
    ),
    build=build,
    statement="column",
    exported=lambda kernel: kernel.columns > 1,
    length_multiple=lambda kernel: BLOCK_BYTES * kernel.columns,
)
