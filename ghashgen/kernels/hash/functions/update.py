"""NAME_update(table, x, in, len): X = GHASH continued over len bytes, zero-padded at the end.

A single block, as the one of lengths that ends every message of GCM, goes a short way of its own:
no loop, no address to compute. Where byte masks make a partial block as cheap, it goes there too.

Whole groups of n blocks first: n products, one reduction each. What is left, m <= n blocks of which
the last may be partial, is one more group against the powers H^m … H^1 with one reduction: its loop
walks the arrays of the table from H^m towards H^1, a register of L blocks at a time, so every m
uses the right powers with the same code.

Where lanes are added up at the end (papers/intel-2023, Figure 9), every lane has its own Horner
accumulator while at least two groups are left: lane l of a register meets the same power as lane 0,
so that after a group each lane is a factor H^-l ahead of its place. The last group's powers, one
lower from lane to lane, put that right.
"""

from collections.abc import Callable

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.ir.builder import Builder
from ghashgen.ir.program import Mem, VReg
from ghashgen.kernels.core import Function
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.hash.parts.ahead import Ahead
from ghashgen.kernels.hash.parts.group import Keys, add_group, add_lanes, group_keys, lane_keys
from ghashgen.kernels.hash.parts.interface import (
    GROUP,
    load_block,
    store_block,
    times_h,
    to_register,
)
from ghashgen.kernels.hash.parts.params import INPUT, INPUT_LENGTH, STATE, TABLE
from ghashgen.kernels.hash.parts.tail import add_tail


def build(b: Builder, kernel: Kernel) -> None:
    """Record the function of this kernel."""
    table, x, source, length = b.params
    state = load_block(b, kernel, x, name="X")
    if kernel.blocks > 1:
        _SINGLE[kernel.instruction_set.masked](b, kernel, state)
    # One accumulator a lane where lanes are added up at the end; those above the first begin as 0.
    X = b.variable(state, "X", lanes=kernel.lane_count if kernel.fold == "end" else 1)
    group_bytes = kernel.blocks * BLOCK_BYTES
    b.branch("below", length, group_bytes, "tail")
    b.label("groups")
    _GROUPS[kernel.fold, kernel.pipeline](b, kernel, X)
    if kernel.widest > kernel.lane_count:
        b.emit("clear_upper")
    b.label("tail")
    # The lanes are added up by now: a register of one lane meets keys of one lane.
    X = b.first_lane(X)
    b.branch("equal", length, 0, "store")
    b.assign(X, add_tail(b, kernel, table, X, source, length))
    b.label("store")
    b.about("")
    store_block(b, kernel, x, X)
    b.label("done")


def _finish_single(b: Builder, kernel: Kernel, state: VReg, block: VReg) -> None:
    table, x, _, _ = b.params
    A = b.xor(to_register(b, kernel, block, "C"), state, "A = X + C")
    store_block(b, kernel, x, times_h(b, kernel, table, A))
    b.emit("return")
    b.label("more")


def _single_block(b: Builder, kernel: Kernel, state: VReg) -> None:
    """16 bytes, no more and no fewer."""
    _, _, source, length = b.params
    b.branch("not_equal", length, BLOCK_BYTES, "more")
    _finish_single(b, kernel, state, b.load(Mem(base=source), "C, bytes as in memory"))


def _single_masked(b: Builder, kernel: Kernel, state: VReg) -> None:
    """1 to 16 bytes."""
    _, _, source, length = b.params
    b.branch("not_below", length, BLOCK_BYTES + 1, "more")
    b.branch("equal", length, 0, "done")
    raw = b.load_bytes(Mem(base=source), b.byte_mask(length), "C, zero-padded", 1)
    _finish_single(b, kernel, state, raw)


_SINGLE: dict[bool, Callable[[Builder, Kernel, VReg], None]] = {
    False: _single_block,
    True: _single_masked,
}
"""How a single block is taken, by whether the ISA has byte masks."""


def _advance(b: Builder, kernel: Kernel) -> None:
    """Move on by one group."""
    _, _, source, length = b.params
    group_bytes = kernel.blocks * BLOCK_BYTES
    b.about("")
    b.assign(source, b.gpr("gpr_add", source, group_bytes, note="next group"))
    b.assign(length, b.gpr("gpr_sub", length, group_bytes))


def _fold_every_group(b: Builder, kernel: Kernel, X: VReg) -> None:
    table, _, source, length = b.params
    keys: Keys = group_keys(b, kernel, table)
    with b.loop(GROUP):
        b.assign(X, add_group(b, kernel, table, X, source, keys))
        _advance(b, kernel)
        b.branch("not_below", length, kernel.blocks * BLOCK_BYTES, GROUP)


def _fold_at_the_end(b: Builder, kernel: Kernel, X: VReg) -> None:
    table, _, source, length = b.params
    two_groups = 2 * kernel.blocks * BLOCK_BYTES
    b.branch("below", length, two_groups, "last_group")
    with b.loop(GROUP):
        b.assign(X, add_lanes(b, kernel, table, X, source))
        _advance(b, kernel)
        b.branch("not_below", length, two_groups, GROUP)
    b.label("last_group")
    b.assign(X, add_group(b, kernel, table, X, source, group_keys(b, kernel, table)))
    _advance(b, kernel)


def _ahead(b: Builder, kernel: Kernel, X: VReg) -> None:
    """A group is prepared by the one before, so the last has none to prepare: it stands alone."""
    table, _, source, length = b.params
    two_groups = 2 * kernel.blocks * BLOCK_BYTES
    fold_now = kernel.fold == "group"
    keys = group_keys(b, kernel, table) if fold_now else lane_keys(kernel, table)
    ahead = Ahead(b, kernel, source, keys)
    b.branch("below", length, two_groups, "last_group")
    with b.loop(GROUP):
        given = ahead.given(prepare_next=True)
        if fold_now:
            b.assign(X, add_group(b, kernel, table, X, source, keys, given))
        else:
            b.assign(X, add_lanes(b, kernel, table, X, source, given))
        _advance(b, kernel)
        b.branch("not_below", length, two_groups, GROUP)
    b.label("last_group")
    last = keys if fold_now else group_keys(b, kernel, table)
    b.assign(X, add_group(b, kernel, table, X, source, last, ahead.given(prepare_next=False)))
    _advance(b, kernel)


_GROUPS: dict[tuple[str, str], Callable[[Builder, Kernel, VReg], None]] = {
    ("group", "none"): _fold_every_group,
    ("end", "none"): _fold_at_the_end,
    ("group", "ahead"): _ahead,
    ("end", "ahead"): _ahead,
}
"""How whole groups are taken, by when lanes are added up, and by what a group prepares."""


FUNCTION = Function(
    name="update",
    order=30,
    params=(TABLE, STATE, INPUT, INPUT_LENGTH),
    purpose=lambda kernel: (
        f"x = {kernel.definition.name} continued over len bytes, the last block zero-padded"
    ),
    build=build,
    statement="update",
)
"""The function."""
