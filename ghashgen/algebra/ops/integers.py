"""`Ops` over 128-bit integers: what the emitted instructions compute, on one concrete input."""

from ghashgen.algebra.field.gf2 import clmul
from ghashgen.algebra.ops.protocol import Halves

MASK64 = (1 << 64) - 1
MASK128 = (1 << 128) - 1


def half(a: int, index: int) -> int:
    """Return the 64-bit half `index` of a 128-bit integer."""
    return (a >> 64 * index) & MASK64


class IntegerOps:
    """The operations on integers in [0, 2^128)."""

    def about(self, subject: str) -> None:
        """Do nothing: values carry no comments."""

    def const(self, value: int, name: str) -> int:
        """Return `value`."""
        return value

    def clmul(self, a: int, b: int, halves: Halves, note: str = "") -> int:
        """Return the carry-less product of the chosen halves."""
        return clmul(half(a, halves[0]), half(b, halves[1]))

    def xor(self, a: int, b: int, note: str = "") -> int:
        """Return a + b."""
        return a ^ b

    def swap64(self, a: int, note: str = "") -> int:
        """Exchange the halves."""
        return half(a, 0) << 64 | half(a, 1)

    def shl_bytes(self, a: int, count: int, note: str = "") -> int:
        """Shift left by whole bytes, dropping what leaves 128 bits."""
        return a << 8 * count & MASK128

    def shr_bytes(self, a: int, count: int, note: str = "") -> int:
        """Shift right by whole bytes."""
        return a >> 8 * count

    def shl64(self, a: int, count: int, note: str = "") -> int:
        """Shift each half left."""
        return (half(a, 1) << count & MASK64) << 64 | half(a, 0) << count & MASK64

    def shr64(self, a: int, count: int, note: str = "") -> int:
        """Shift each half right."""
        return (half(a, 1) >> count) << 64 | half(a, 0) >> count

    def join_low(self, a: int, b: int, note: str = "") -> int:
        """Return (a0, b0)."""
        return half(b, 0) << 64 | half(a, 0)

    def join_high(self, a: int, b: int, note: str = "") -> int:
        """Return (a1, b1)."""
        return half(b, 1) << 64 | half(a, 1)

    def spread_top(self, a: int, note: str = "") -> int:
        """Return all ones if bit 127 is set, else 0."""
        return MASK128 * (a >> 127)

    def and_const(self, a: int, value: int, name: str, note: str = "") -> int:
        """Return a AND value."""
        return a & value
