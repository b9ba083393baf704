"""NAME_power(table, y, m): y = H^m.

A message hashed in contiguous segments needs it (papers/kryptus-parallel-ghash-contiguous, section
3; `algebra.schemes.segments`). Let y be the hash of a segment of m blocks from state 0, and x the
hash of everything before it. Then

    GHASH(x, segment) = x·H^m + y

So segments are appended from left to right, and segments of one length share one power.

y has the form of the hash subkey h: power(1) is h itself. For POLYVAL, where dot(a, b) is
a·b·x^-128, H^m is the m-fold dot product and H^0 is x^128.

power squares and multiplies from the lowest bit of m up, with P = H^(2^i), so that a turn's
squaring does not wait for its multiplication. Turns and branches depend only on m.
"""

from ghashgen.algebra.field.bitorder import register_from_element, twist
from ghashgen.ir.builder import Builder, Value
from ghashgen.kernels.core import Direction, Function, Param, Word
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.hash.parts.interface import entries, key_sum, store_block
from ghashgen.kernels.hash.parts.keys import Key, key_of, times
from ghashgen.kernels.hash.parts.params import ONE_BLOCK, TABLE

ONE = 1
"""The element 1 of the field."""

BIT = "bit"
"""Label of the loop over the bits of m."""


def build(b: Builder, kernel: Kernel) -> None:
    """Record the function of this kernel."""
    table, y, m = b.params
    R = b.variable(_unit(b, kernel, kernel.op == "polyval"), "R", "R = H^0")
    b.branch("below", m, 1, "store")
    b.about("P = B_1")
    H = Key(tuple(entries(kernel, table, 1)), key_sum(kernel, table, 1))
    one = b.variable(_unit(b, kernel, True), "one", "the key operand of H^0")
    P = b.variable(times(b, kernel, one, H), "P")
    with b.loop(BIT):
        b.about("key of P")
        key = key_of(b, kernel, P)
        b.about("")
        odd = b.gpr("gpr_and", m, 1, note="this bit of m")
        b.branch("equal", odd, 0, "even")
        b.about("R = R·P")
        b.assign(R, times(b, kernel, R, key))
        b.label("even")
        b.about("P = P·P")
        b.assign(P, times(b, kernel, P, key))
        b.about("")
        b.assign(m, b.gpr("gpr_shr", m, 1, note="the next bit"))
        b.branch("not_below", m, 1, BIT)
    b.label("store")
    store_block(b, kernel, y, R, "Y")


def _unit(b: Builder, kernel: Kernel, twisted: bool) -> Value:
    """Return the register of 1, or the key operand twist(1)."""
    order = kernel.bit_order
    element = twist(ONE, order) if twisted else ONE
    return b.const(register_from_element(element, order), "unit_twisted" if twisted else "unit")


FUNCTION = Function(
    name="power",
    order=40,
    params=(
        TABLE,
        Param("y", "result", ONE_BLOCK, Direction.OUT),
        Param("m", "exponent", Word(), secret=False),
    ),
    purpose=lambda kernel: "y = H^m, for any m",
    build=build,
    statement="power",
    exported=lambda kernel: kernel.segments,
)
