"""The `Ops` protocol: what a scheme may do with a 128-bit value.

A value is one 128-bit SIMD lane, bits numbered from 0 (least significant), halves
V = V1·x^64 + V0. Every operation is GF(2)-linear in each operand; `clmul` is the only product.
"""

from typing import Protocol, TypeVar

V = TypeVar("V")

Halves = tuple[int, int]
"""Which half of each operand enters a carry-less product: (0, 1) is A0*B1."""

LO_LO: Halves = (0, 0)
LO_HI: Halves = (0, 1)
HI_LO: Halves = (1, 0)
HI_HI: Halves = (1, 1)


class Ops(Protocol[V]):
    """Operations on 128-bit values of type V; `note` is the algebra, kept as the line's comment."""

    def about(self, subject: str) -> None:
        """Name the subject of the following operations, for their comments; changes no value."""
        ...

    def const(self, value: int, name: str) -> V:
        """Return the 128-bit constant `value`; `name` labels it in emitted data."""
        ...

    def clmul(self, a: V, b: V, halves: Halves, note: str = "") -> V:
        """Return the 127-bit carry-less product of one half of `a` and one half of `b`."""
        ...

    def xor(self, a: V, b: V, note: str = "") -> V:
        """Return a + b."""
        ...

    def swap64(self, a: V, note: str = "") -> V:
        """Return (a1, a0): the halves exchanged."""
        ...

    def shl_bytes(self, a: V, count: int, note: str = "") -> V:
        """Return a·x^(8·count) cut to 128 bits, 0 <= count <= 15."""
        ...

    def shr_bytes(self, a: V, count: int, note: str = "") -> V:
        """Return the 128-bit value shifted right by `count` bytes, 0 <= count <= 15."""
        ...

    def shl64(self, a: V, count: int, note: str = "") -> V:
        """Shift each 64-bit half left by `count` bits, 0 <= count <= 63."""
        ...

    def shr64(self, a: V, count: int, note: str = "") -> V:
        """Shift each 64-bit half right by `count` bits, 0 <= count <= 63."""
        ...

    def join_low(self, a: V, b: V, note: str = "") -> V:
        """Return (low half a0, high half b0)."""
        ...

    def join_high(self, a: V, b: V, note: str = "") -> V:
        """Return (low half a1, high half b1)."""
        ...

    def spread_top(self, a: V, note: str = "") -> V:
        """Return 128 copies of bit 127."""
        ...

    def and_const(self, a: V, value: int, name: str, note: str = "") -> V:
        """Return the bits of `a` that the constant `value` selects."""
        ...
