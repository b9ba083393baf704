"""NAME_power(table, y, m): y = H^m; NAME_combine(x, y, p): x = x·p + y.

What a message hashed in contiguous segments needs (papers/kryptus-parallel-ghash-contiguous,
section 3; `algebra.schemes.segments`). With y the hash of a segment of m blocks from state 0 and x
the hash of all that stands before it,

    GHASH(x, segment) = x·H^m + y

so segments are folded in from left to right, and segments of one length share one power.

p has the form of the hash subkey h, in which power(1) is h itself: combine makes a key operand of
it as init does of h. For GHASH that is the form of the state too. For POLYVAL, where dot(a, b) is
a·b·x^-128 and h is twisted already, H^m is the m-fold dot product and H^0 is x^128.

power squares and multiplies from the lowest bit of m up, P being H^(2^i), so that the squaring of a
turn does not wait for its multiplication. Turns and branches depend on m alone.
"""

from ghashgen.algebra.field.bitorder import register_from_element, twist
from ghashgen.ir.builder import Builder, Value
from ghashgen.ir.program import Program
from ghashgen.kernels.hash.functions.interface import entries, key_sum, load_block, store_block
from ghashgen.kernels.hash.functions.power import Key, key_of, key_operand, times
from ghashgen.kernels.hash.kernel import Kernel

ONE = 1
"""The element 1 of the field."""

BIT = "bit"
"""Label of the loop over the bits of m."""


def build_power(kernel: Kernel) -> Program:
    """Return the function power for this kernel."""
    b = Builder("power", ("table", "y", "m"), kernel.widest)
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
    return b.program()


def build_combine(kernel: Kernel) -> Program:
    """Return the function combine for this kernel."""
    b = Builder("combine", ("x", "y", "p"), kernel.widest)
    x, y, p = b.params
    P = load_block(b, kernel, p, name="P")
    b.about("key of P")
    key = key_of(b, kernel, key_operand(b, kernel, P))
    b.about("")
    X = load_block(b, kernel, x, name="X")
    b.about("X·P")
    moved = times(b, kernel, X, key)
    b.about("")
    Y = load_block(b, kernel, y, name="Y")
    store_block(b, kernel, x, b.xor(moved, Y, "X·P + Y"))
    return b.program()


def _unit(b: Builder, kernel: Kernel, twisted: bool) -> Value:
    """Return the register of 1, or the key operand twist(1)."""
    order = kernel.bit_order
    element = twist(ONE, order) if twisted else ONE
    return b.const(register_from_element(element, order), "one_twisted" if twisted else "one")
