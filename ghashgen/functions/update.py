"""NAME_update(table, x, in, len): X = GHASH continued over len bytes, zero-padded at the end.

Whole groups of n blocks first: n products, one reduction each. What is left, m <= n blocks of which
the last may be partial, is one more group against the powers H^m … H^1 with one reduction: its loop
walks the arrays of the table from H^m towards H^1, a register of L blocks at a time, so every m uses
the right powers with the same code.

Where lanes are added up at the end (papers/intel-2023, Figure 9), every lane has its own Horner
accumulator while at least two groups are left: lane l of a register meets the same power as lane 0,
so that after a group each lane is a factor H^-l ahead of its place. The last group's powers, one
lower from lane to lane, put that right.
"""

from ghashgen.builder import Builder
from ghashgen.field.bitorder import BLOCK_BYTES
from ghashgen.functions.group import add_group
from ghashgen.functions.interface import GROUP, load_block, store_block
from ghashgen.functions.tail import add_tail
from ghashgen.ir import Program
from ghashgen.kernel import Kernel


def build(kernel: Kernel) -> Program:
    """Return the function for this kernel."""
    b = Builder("update", ("table", "x", "in", "len"), kernel.lane_count)
    table, x, source, length = b.params
    X = b.variable(load_block(b, kernel, x, name="X"), "X")
    group_bytes = kernel.blocks * BLOCK_BYTES
    b.branch("below", length, group_bytes, "tail")
    with b.loop(GROUP):
        b.assign(X, add_group(b, kernel, table, X, source))
        b.about("")
        b.assign(source, b.gpr("gpr_add", source, group_bytes, note="next group"))
        b.assign(length, b.gpr("gpr_sub", length, group_bytes))
        b.branch("not_below", length, group_bytes, GROUP)
    b.label("tail")
    b.branch("equal", length, 0, "store")
    b.assign(X, add_tail(b, kernel, table, X, source, length))
    b.label("store")
    b.about("")
    store_block(b, kernel, x, X)
    return b.program()
