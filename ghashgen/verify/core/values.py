"""Values of general registers: numbers, lengths with an unknown, pointers, and 64-bit secrets.

    int       a known 64-bit number
    Affine    scale·u + offset, u a named unknown in [low, high]: a length, in the induction
    Pointer   an address: a region's start plus an offset (int or Affine)
    Term      a secret, or what the caller left (`ghashgen.verify.core.terms`), in bits 0..63

An operation on b bits works modulo 2^b. On an Affine it is exact for the whole range of u, or
raises `UndecidedError`. `reduced` is the only way from an integer back to a register, and `below`,
`equals` and `bit` are the only questions asked of one.
"""

from dataclasses import dataclass
from itertools import permutations
from typing import Any, Protocol

from ghashgen.verify.core.term import Term

M64 = (1 << 64) - 1


class UndecidedError(Exception):
    """A comparison or an operation has different answers for some values of the unknown."""


@dataclass(frozen=True, slots=True)
class Sum:
    """A relation between an unknown u and another one, v: scale·u + of_other·v = total."""

    scale: int
    other: str
    """The name of v."""
    of_other: int
    total: "Affine"


@dataclass(frozen=True, slots=True)
class Affine:
    """scale·u + offset for an unknown u with low <= u <= high; scale is not 0.

    Two of them have the same unknown if the names are equal; the ranges do not count.
    """

    scale: int
    offset: int
    low: int
    high: int
    unknown: str
    sum: Sum | None = None
    """A relation between u and another unknown: two numbers with a bounded sum, a fact that their
    ranges alone do not give. No cut keeps such a number.
    """

    @property
    def least(self) -> int:
        """The least value."""
        return self.scale * (self.low if self.scale > 0 else self.high) + self.offset

    @property
    def greatest(self) -> int:
        """The greatest value."""
        return self.scale * (self.high if self.scale > 0 else self.low) + self.offset

    def plus(self, amount: int) -> "Affine":
        """Return self + amount."""
        return Affine(self.scale, self.offset + amount, self.low, self.high, self.unknown, self.sum)

    def at(self, u: int) -> int:
        """Return the value at one u."""
        return self.scale * u + self.offset


@dataclass(frozen=True, slots=True)
class Linear:
    """c + Σ k·u. `k` holds the coefficients, none of them 0, in the order of the names."""

    c: int
    k: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        text = "".join(f"{n:+}*{u}" if n != 1 else f"+{u}" for u, n in self.k)
        return (text + (f"{self.c:+}" if self.c or not text else "")).removeprefix("+")


UNKNOWN = Affine | Linear
"""A number that is not constant."""

Number = int | Affine


@dataclass(frozen=True, slots=True)
class Pointer:
    """The start of a region plus an offset in bytes (negative below its start), modulo 2^64."""

    region: str
    offset: int | UNKNOWN


Value = int | Affine | Linear | Pointer | Term


def fits(value: object, bits: int) -> bool:
    """Return whether a value certainly fits in `bits` bits."""
    if isinstance(value, int):
        return value >> bits == 0
    if isinstance(value, Term):
        return value.mask >> bits == 0
    if isinstance(value, Affine):
        return value.least >= 0 and value.greatest >> bits == 0
    return isinstance(value, Pointer) and bits == 64


def signed(value: int, bits: int = 64) -> int:
    """Return the signed number whose two's complement in `bits` bits is `value`."""
    return value - (1 << bits) if value >> bits - 1 else value


# Integers, not yet reduced: exact, and of any sign.


def shift_number(a: Number, amount: int) -> Number:
    """Return a + amount as integers."""
    return a + amount if isinstance(a, int) else a.plus(amount)


def combined(a: Number, b: Number, sign: int) -> Number:
    """Return a + sign·b as integers."""
    if isinstance(b, int):
        return shift_number(a, sign * b)
    if isinstance(a, int):
        return Affine(sign * b.scale, a + sign * b.offset, b.low, b.high, b.unknown, b.sum)
    if (a.unknown, a.low, a.high) != (b.unknown, b.low, b.high):
        return _summed(a, b, sign)
    scale, offset = a.scale + sign * b.scale, a.offset + sign * b.offset
    return Affine(scale, offset, a.low, a.high, a.unknown) if scale else offset


def _summed(a: Affine, b: Affine, sign: int) -> Affine:
    """Return a + sign·b of two unknowns, if a relation between them gives it.

    Raises:
        UndecidedError: no relation gives it.
    """
    for (x, first), (y, second) in permutations(((a, 1), (b, sign))):
        known = x.sum
        if known is None or known.other != y.unknown:
            continue
        for k in (1, -1):
            if (first * x.scale, second * y.scale) == (k * known.scale, k * known.of_other):
                return _times(known.total, k).plus(first * x.offset + second * y.offset)
    raise UndecidedError("two unknowns")


def _times(a: Affine, k: int) -> Affine:
    return Affine(k * a.scale, k * a.offset, a.low, a.high, a.unknown)


def times(a: Number, k: int) -> Number:
    """Return a·k as integers."""
    if isinstance(a, int):
        return a * k
    return _times(a, k) if k else 0


def below(a: Number, bound: int) -> bool | None:
    """Return whether a < bound; None if that depends on the unknown."""
    if isinstance(a, int):
        return a < bound
    if a.least >= bound or a.greatest < bound:
        return a.greatest < bound
    return None


def equals(a: Number, value: int) -> bool | None:
    """Return whether a = value; None if that depends on the unknown."""
    if isinstance(a, int):
        return a == value
    if a.least == a.greatest:
        return a.least == value
    u, rest = divmod(value - a.offset, a.scale)
    return None if rest == 0 and a.low <= u <= a.high else False


def bit(a: Number, k: int) -> bool | None:
    """Return bit k of a in two's complement; None if that depends on the unknown."""
    if isinstance(a, int):
        return bool(a >> k & 1)
    if a.scale % (2 << k) == 0:
        return bool(a.offset >> k & 1)
    first = a.least >> k
    return bool(first & 1) if a.greatest >> k == first else None


def as_signed(a: Number, bits: int) -> Number | None:
    """Return the number of the two's complement a of `bits` bits; None if its sign is not known."""
    sign = bit(a, bits - 1)
    return None if sign is None else shift_number(a, -1 << bits) if sign else a


# Registers: modulo 2^bits.


def reduced(a: Number, bits: int) -> Number:
    """Return a modulo 2^bits, for an integer of any sign.

    Raises:
        UndecidedError: the number of wraps depends on the unknown, so the result is not affine.
    """
    if isinstance(a, int):
        return a & (1 << bits) - 1
    wraps = a.least >> bits
    if a.greatest >> bits != wraps:
        raise UndecidedError("a length that may wrap around")
    return a.plus(-(wraps << bits)) if wraps else a


def _amount(b: Number) -> Number:
    """Return a 64-bit number as the signed amount that an address moves by."""
    if isinstance(b, int):
        return signed(b & M64)
    value = as_signed(b, 64)
    return b if value is None else value


def _offset(a: Pointer) -> Number:
    assert not isinstance(a.offset, Linear)
    return a.offset


def add(a: Value, b: Value, bits: int = 64) -> Value | None:
    """Return a + b modulo 2^bits, or None if no row defines it."""
    if isinstance(a, int | Affine) and isinstance(b, int | Affine):
        return reduced(combined(a, b, 1), bits)
    if isinstance(b, Pointer):
        a, b = b, a
    if isinstance(a, Pointer) and isinstance(b, int | Affine) and bits == 64:
        return Pointer(a.region, combined(_offset(a), _amount(b), 1))
    return None


def subtract(a: Value, b: Value, bits: int = 64) -> Value | None:
    """Return a - b modulo 2^bits, or None if no row defines it."""
    if isinstance(a, int | Affine) and isinstance(b, int | Affine):
        return reduced(combined(a, b, -1), bits)
    if isinstance(a, Pointer) and bits == 64:
        if isinstance(b, Pointer) and a.region == b.region:
            return reduced(combined(_offset(a), _offset(b), -1), 64)
        if isinstance(b, int | Affine):
            return Pointer(a.region, combined(_offset(a), _amount(b), -1))
    return None


def shift_right(a: Affine, count: int) -> Affine:
    """Return a >> count, for a scale that 2^count divides."""
    if a.scale & (1 << count) - 1:
        raise UndecidedError("a shift of a length by an unknown amount of its bits")
    return Affine(a.scale >> count, a.offset >> count, a.low, a.high, a.unknown)


def shift_left(a: Affine, count: int, bits: int = 64) -> Number:
    """Return a << count modulo 2^bits."""
    shifted = Affine(a.scale << count, a.offset << count, a.low, a.high, a.unknown)
    return reduced(shifted, bits)


def mask_number(a: Affine, mask: int, bits: int = 64) -> Number:
    """Return a AND mask for masks of low bits, or of all but low bits, that the scale permits."""
    low = mask + 1
    if low & mask == 0 and a.scale % low == 0:
        return a.offset & mask
    cut = (1 << bits) - mask
    if cut & cut - 1 == 0 and a.scale % cut == 0:
        return a.plus(-(a.offset % cut))
    raise UndecidedError("a mask of a length with an unknown")


class Arithmetic(Protocol):
    """What rows ask of unknown numbers. `Facts` (`core.linear`) and `Ranges` answer."""

    def add(self, a: Value, b: Value, bits: int = 64) -> Value | None: ...  # noqa: D102
    def subtract(self, a: Value, b: Value, bits: int = 64) -> Value | None: ...  # noqa: D102
    def sum(self, a: Any, b: Any, sign: int) -> Any: ...  # noqa: D102
    def times(self, a: Any, k: int) -> Any: ...  # noqa: D102
    def below(self, a: Any, bound: int) -> bool | None: ...  # noqa: D102
    def equals(self, a: Any, value: int) -> bool | None: ...  # noqa: D102
    def bit(self, a: Any, k: int) -> bool | None: ...  # noqa: D102
    def as_signed(self, a: Any, bits: int) -> Any: ...  # noqa: D102
    def reduced(self, a: Any, bits: int) -> Any: ...  # noqa: D102
    def shift_left(self, a: Any, count: int, bits: int = 64) -> Any: ...  # noqa: D102
    def shift_right(self, a: Any, count: int) -> Any: ...  # noqa: D102
    def mask_number(self, a: Any, mask: int, bits: int = 64) -> Any: ...  # noqa: D102
    def low_bits(self, a: Any, count: int) -> int | None: ...  # noqa: D102
    def known(self, a: Any) -> int: ...  # noqa: D102
    def width(self, a: Any) -> int: ...  # noqa: D102
    def fits(self, a: Any, bits: int) -> bool: ...  # noqa: D102


class Ranges:
    """The arithmetic of numbers with one unknown, which carry its range."""

    add = staticmethod(add)
    subtract = staticmethod(subtract)
    sum = staticmethod(combined)
    times = staticmethod(times)
    below = staticmethod(below)
    equals = staticmethod(equals)
    bit = staticmethod(bit)
    as_signed = staticmethod(as_signed)
    reduced = staticmethod(reduced)
    shift_left = staticmethod(shift_left)
    shift_right = staticmethod(shift_right)
    mask_number = staticmethod(mask_number)
    fits = staticmethod(fits)

    @staticmethod
    def width(a: Affine) -> int:
        """Return the maximum bits of a 64-bit number."""
        return a.greatest.bit_length()

    @staticmethod
    def known(a: Affine) -> int:
        """Return a number that has to be known.

        Raises:
            UndecidedError: it depends on the unknown.
        """
        raise UndecidedError("a count that depends on an unknown length")

    @staticmethod
    def low_bits(a: Affine, count: int) -> int | None:
        """Return the lowest bits of a, or None if they depend on the unknown."""
        return None if a.scale % (1 << count) else a.offset & (1 << count) - 1


RANGES = Ranges()
