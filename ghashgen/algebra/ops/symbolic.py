"""`Ops` over exact GF(2) forms: what the emitted instructions compute, on every input at once."""

from ghashgen.algebra.ops.forms import Form, concat, constant, multiply
from ghashgen.algebra.ops.protocol import Halves

WIDTH = 128
MASK64 = (1 << 64) - 1


def half(a: Form, index: int) -> Form:
    """Return the 64-bit half `index` of a 128-bit form."""
    return a.slice(64 * index, 64)


class SymbolicOps:
    """The operations on forms of width 128."""

    def about(self, subject: str) -> None:
        """Do nothing: values carry no comments."""

    def const(self, value: int, name: str) -> Form:
        """Return the constant form."""
        return constant(value, WIDTH)

    def clmul(self, a: Form, b: Form, halves: Halves, note: str = "") -> Form:
        """Return the carry-less product of the chosen halves; DegreeError above degree 2."""
        return multiply(half(a, halves[0]), half(b, halves[1]))

    def xor(self, a: Form, b: Form, note: str = "") -> Form:
        """Return a + b."""
        return a ^ b

    def swap64(self, a: Form, note: str = "") -> Form:
        """Exchange the halves."""
        return concat(half(a, 1), half(a, 0))

    def shl_bytes(self, a: Form, count: int, note: str = "") -> Form:
        """Shift left by whole bytes, dropping what leaves 128 bits."""
        return a.shift(8 * count)

    def shr_bytes(self, a: Form, count: int, note: str = "") -> Form:
        """Shift right by whole bytes."""
        return a.shift(-8 * count)

    def shl64(self, a: Form, count: int, note: str = "") -> Form:
        """Shift each half left."""
        kept = MASK64 << count & MASK64
        return a.shift(count).mask(kept << 64 | kept)

    def shr64(self, a: Form, count: int, note: str = "") -> Form:
        """Shift each half right."""
        kept = MASK64 >> count
        return a.shift(-count).mask(kept << 64 | kept)

    def join_low(self, a: Form, b: Form, note: str = "") -> Form:
        """Return (a0, b0)."""
        return concat(half(a, 0), half(b, 0))

    def join_high(self, a: Form, b: Form, note: str = "") -> Form:
        """Return (a1, b1)."""
        return concat(half(a, 1), half(b, 1))

    def spread_top(self, a: Form, note: str = "") -> Form:
        """Return 128 copies of bit 127."""
        return concat(*[a.slice(WIDTH - 1, 1)] * WIDTH)

    def and_const(self, a: Form, value: int, name: str, note: str = "") -> Form:
        """Return the selected bits."""
        return a.mask(value)
