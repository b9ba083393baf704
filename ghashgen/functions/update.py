"""NAME_update(table, x, in, len): X = GHASH continued over len bytes, zero-padded at the end.

Whole groups of n blocks first: n products, one reduction each. What is left, m < n blocks and
perhaps a partial one, is one more group against the powers H^m … H^1 with one reduction: the loop
over its blocks walks the table downwards, so every m uses the right powers with the same code.
"""

from ghashgen.builder import Builder
from ghashgen.field.bitorder import BLOCK_BYTES
from ghashgen.functions.interface import (
    BLOCK,
    GROUP,
    entries,
    finish_group,
    load_block,
    store_block,
    to_register,
)
from ghashgen.functions.partial import load_partial
from ghashgen.ir import Mem, Program, VReg
from ghashgen.kernel import ENTRY_BYTES, Kernel
from ghashgen.schemes import aggregate


def build(kernel: Kernel) -> Program:
    """Return the function for this kernel."""
    b = Builder("update", ("table", "x", "in", "len"))
    table, x, source, length = b.params
    X = b.variable(load_block(b, kernel, x, name="X"), "X")
    group_bytes = kernel.blocks * BLOCK_BYTES
    b.branch("below", length, group_bytes, "tail")
    with b.loop(GROUP):
        b.assign(X, _group(b, kernel, table, X, source))
        b.about("")
        b.assign(source, b.gpr("gpr_add", source, group_bytes, note="next group"))
        b.assign(length, b.gpr("gpr_sub", length, group_bytes))
        b.branch("not_below", length, group_bytes, GROUP)
    b.label("tail")
    b.branch("equal", length, 0, "store")
    b.assign(X, _tail(b, kernel, table, X, source, length))
    b.label("store")
    b.about("")
    store_block(b, kernel, x, X)
    return b.program()


def _group(b: Builder, kernel: Kernel, table: VReg, X: VReg, source: VReg) -> VReg:
    n = kernel.blocks

    def power(i: int) -> list[Mem | VReg]:
        key, R = entries(kernel, table, i)
        return key if R is None else [*key, R]

    loads = [lambda offset=BLOCK_BYTES * i: load_block(b, kernel, source, offset) for i in range(n)]
    out = aggregate.group(b, kernel.multiplier, kernel.reducer, kernel.bit_order, X, loads, power)
    if isinstance(out, Mem):
        raise TypeError("a reduction must compute its result")
    return out


def _tail(b: Builder, kernel: Kernel, table: VReg, X: VReg, source: VReg, length: VReg) -> VReg:
    """Record the group of m = ⌈length/16⌉ blocks, 1 <= m <= n."""
    key_at = _power_address(b, kernel, table, length)
    key, R = entries(kernel, key_at, 0, moved=True)
    key_sum = None
    if isinstance(R, Mem):
        key_sum = b.load(R, "R_m: the key terms of H^m … H^1")
    acc = {name: b.zero(name) for name in kernel.multiplier.accumulators}

    def multiply(A: VReg, subject: str) -> None:
        b.about(subject)
        A_ = b.xor(A, X, "A = X + C; X counts once")
        sums = aggregate.accumulate(b, kernel.multiplier, kernel.bit_order, dict(acc), A_, key)
        for name, register in acc.items():
            b.assign(register, sums[name])
        b.about("")

    b.branch("below", length, BLOCK_BYTES, "partial")
    with b.loop(BLOCK):
        multiply(load_block(b, kernel, source), "C·H^i")
        b.emit("zero", X)
        b.assign(key_at, b.gpr("gpr_sub", key_at, kernel.stride, note="H^(i-1)"))
        b.assign(source, b.gpr("gpr_add", source, BLOCK_BYTES, note="next block"))
        b.assign(length, b.gpr("gpr_sub", length, BLOCK_BYTES))
        b.branch("not_below", length, BLOCK_BYTES, BLOCK)
    b.label("partial")
    b.branch("equal", length, 0, "reduce")
    raw = load_partial(b, source, length, "padded")
    multiply(to_register(b, kernel, raw, "C_last"), "C·H")
    b.label("reduce")
    b.about("reduce")
    return finish_group(b, kernel, acc, key_sum)


def _power_address(b: Builder, kernel: Kernel, table: VReg, length: VReg) -> VReg:
    """Return the address of the entries of H^m: table + (m - 1)·stride, m = ⌈length/16⌉."""
    rest = b.gpr("gpr_and", b.gpr("gpr_sub", length, 1), -BLOCK_BYTES, note="16·(m - 1)")
    count = kernel.stride // ENTRY_BYTES
    address = rest
    for _ in range(count - 1):
        address = b.gpr("gpr_address", Mem(base=address, index=rest))
    return b.gpr("gpr_address", Mem(base=table, index=address), note="the entries of H^m")
