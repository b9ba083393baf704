"""Values of general registers: numbers, lengths with an unknown, pointers, and 64-bit secrets.

    int       a known 64-bit number
    Affine    scale·u + offset, u unknown in [low, high]: how a length looks in the induction
    Pointer   an address: a region's start plus an offset (int or Affine)
    Term      a secret, or what the caller left (`ghashgen.verify.terms`), in bits 0..63

Arithmetic on an Affine is exact and never wraps; what cannot be decided for the whole range of u is
refused with `UndecidedError`, never guessed.
"""

from dataclasses import dataclass

from ghashgen.verify.terms import Term

M64 = (1 << 64) - 1


class UndecidedError(Exception):
    """A comparison or an operation has no single answer for all values of the unknown."""


@dataclass(frozen=True, slots=True)
class Affine:
    """scale·u + offset for an unknown u with low <= u <= high; scale > 0."""

    scale: int
    offset: int
    low: int
    high: int

    @property
    def least(self) -> int:
        """The least value."""
        return self.scale * self.low + self.offset

    @property
    def greatest(self) -> int:
        """The greatest value."""
        return self.scale * self.high + self.offset

    def plus(self, amount: int) -> "Affine":
        """Return self + amount."""
        return Affine(self.scale, self.offset + amount, self.low, self.high)

    def at(self, u: int) -> int:
        """Return the value at one u."""
        return self.scale * u + self.offset


Number = int | Affine


@dataclass(frozen=True, slots=True)
class Pointer:
    """The start of a region plus an offset in bytes (negative below its start)."""

    region: str
    offset: Number


Value = int | Affine | Pointer | Term


def signed(value: int, bits: int = 64) -> int:
    """Return the number whose two's complement in `bits` bits is value."""
    return value - (1 << bits) if value >> bits - 1 else value


def _small(value: int) -> int:
    """Return a 64-bit constant as the signed amount that an address or a length moves by."""
    return signed(value & M64)


def shift_number(a: Number, amount: int) -> Number:
    """Return a + amount as integers."""
    return a + amount if isinstance(a, int) else a.plus(amount)


def add(a: Value, b: Value) -> Value | None:
    """Return a + b modulo 2^64, or None if no row says what it is."""
    if isinstance(a, int) and isinstance(b, int):
        return a + b & M64
    if isinstance(b, Pointer | Affine) and isinstance(a, int):
        a, b = b, a
    if isinstance(a, Pointer):
        if isinstance(b, int):
            return Pointer(a.region, shift_number(a.offset, _small(b)))
        if isinstance(b, Affine) and isinstance(a.offset, int):
            return Pointer(a.region, b.plus(a.offset))
        if isinstance(b, Affine) and isinstance(a.offset, Affine):
            return Pointer(a.region, _sum(a.offset, b))
        return None
    if isinstance(b, Pointer) and isinstance(a, Affine):
        return add(b, a)
    if isinstance(a, Affine):
        if isinstance(b, int):
            return _in_range(a.plus(_small(b)))
        if isinstance(b, Affine):
            return _in_range(_sum(a, b))
    return None


def _sum(a: Affine, b: Affine) -> Affine:
    if (a.low, a.high) != (b.low, b.high):
        raise UndecidedError("two unknowns")
    return Affine(a.scale + b.scale, a.offset + b.offset, a.low, a.high)


def _in_range(a: Affine) -> Affine:
    if a.least < 0 or a.greatest > M64:
        raise UndecidedError("a length that may wrap around")
    return a


def number_difference(a: Number, b: Number) -> Number:
    """Return a - b as integers; UndecidedError if the unknown enters it with a sign."""
    if isinstance(a, int):
        if isinstance(b, int):
            return a - b
        raise UndecidedError("a number less an unknown length")
    if isinstance(b, int):
        return a.plus(-b)
    if (a.low, a.high) != (b.low, b.high):
        raise UndecidedError("two unknowns")
    scale, offset = a.scale - b.scale, a.offset - b.offset
    if scale == 0:
        return offset
    if scale < 0:
        raise UndecidedError("a number less an unknown length")
    return Affine(scale, offset, a.low, a.high)


def subtract(a: Value, b: Value) -> Value | None:
    """Return a - b modulo 2^64, or None if no row says what it is."""
    if isinstance(a, int) and isinstance(b, int):
        return a - b & M64
    if isinstance(a, Pointer) and isinstance(b, Pointer):
        if a.region != b.region:
            return None
        out = number_difference(a.offset, b.offset)
        return out & M64 if isinstance(out, int) else _in_range(out)
    if isinstance(a, Pointer) and isinstance(b, int | Affine):
        out = number_difference(a.offset, _small(b) if isinstance(b, int) else b)
        return Pointer(a.region, out)
    if isinstance(a, Affine) and isinstance(b, int | Affine):
        out = number_difference(a, _small(b) if isinstance(b, int) else b)
        return out & M64 if isinstance(out, int) else _in_range(out)
    if isinstance(a, int) and isinstance(b, Affine):
        raise UndecidedError("a number less an unknown length")
    return None


def shift_right(a: Affine, count: int) -> Affine:
    """Return a >> count, for a scale that 2^count divides."""
    if a.scale & (1 << count) - 1:
        raise UndecidedError("a shift of a length by an unknown amount of its bits")
    return Affine(a.scale >> count, a.offset >> count, a.low, a.high)


def shift_left(a: Affine, count: int) -> Affine:
    """Return a << count if it stays below 2^64."""
    return _in_range(Affine(a.scale << count, a.offset << count, a.low, a.high))


def mask_number(a: Affine, mask: int) -> Number:
    """Return a AND mask for masks of low bits, or of all but low bits, that the scale permits."""
    low = mask + 1
    if low & mask == 0 and a.scale % low == 0:
        return a.offset & mask
    cut = (mask ^ M64) + 1
    if cut & cut - 1 == 0 and a.scale % cut == 0:
        return Affine(a.scale, a.offset & ~(cut - 1), a.low, a.high)
    raise UndecidedError("a mask of a length with an unknown")
