"""Values of general registers: numbers, addresses, and secrets of 64 bits.

    int       a known number of 64 bits
    Linear    a number with unknowns, such as a length: c + sum of k·u over named unknowns u
    Pointer   an address: a region's start plus an offset (int or Linear)
    Term      a secret, or what the caller left (`ghashgen.verify.core.terms`), in bits 0..63

What is known of unknowns, and arithmetic on them, is in `ghashgen.verify.core.linear`.
"""

from dataclasses import dataclass
from typing import Final

from ghashgen.verify.core.term import Term

M64 = (1 << 64) - 1


class UndecidedError(Exception):
    """A comparison or an operation has different answers for some values of the unknowns."""


# mypy sees that nobody changes one. To refuse it at run time, too, would double the time of each.
@dataclass(unsafe_hash=True, slots=True)
class Linear:
    """c + sum of k·u. `k` holds the coefficients, none of them 0, in the order of the names."""

    c: Final[int]
    k: Final[tuple[tuple[str, int], ...]]

    def __str__(self) -> str:
        text = "".join(f"{n:+}*{u}" if n != 1 else f"+{u}" for u, n in self.k)
        return (text + (f"{self.c:+}" if self.c or not text else "")).removeprefix("+")


@dataclass(unsafe_hash=True, slots=True)
class Pointer:
    """The start of a region plus an offset in bytes (negative below its start), modulo 2^64."""

    region: Final[str]
    offset: Final[int | Linear]


Value = int | Linear | Pointer | Term


def signed(value: int, bits: int = 64) -> int:
    """Return the signed number whose two's complement in `bits` bits is `value`."""
    return value - (1 << bits) if value >> bits - 1 else value
