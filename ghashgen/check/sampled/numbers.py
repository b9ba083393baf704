"""Arithmetic and flags of general registers, for the Python that `control` writes.

Every function takes the registers, changes the flags and returns the result, `bits` wide. Flags
that the manual leaves undefined and registers that hold data are None, so that computing with them
is a TypeError.
"""

from collections.abc import Callable, Mapping

RSP, RBP = 4, 5
CF, ZF, SF, OF = 16, 17, 18, 19
"""Indices of the flags, after the sixteen registers; None if the manual leaves one undefined."""

MASK = 20
"""Index of k0."""

PLACES = 28

Registers = list[int | None]
"""Numbers by hardware number, then the flags and the masks; None if data or unknown."""


CONDITIONS: Mapping[str, str] = {
    "o": "r[19] + 0",
    "b": "r[16] + 0",
    "e": "r[17] + 0",
    "be": "r[16] + r[17]",
    "s": "r[18] + 0",
    "l": "r[18] + r[19] == 1",
    "le": "r[17] + (r[18] + r[19] == 1)",
    "no": "1 - r[19]",
    "ae": "1 - r[16]",
    "ne": "1 - r[17]",
    "a": "1 - r[16] - r[17] == 1",
    "ns": "1 - r[18]",
    "ge": "r[18] + r[19] != 1",
    "g": "r[17] + (r[18] + r[19] == 1) == 0",
}
"""Conditions by the letters after j. They are sums, so that an unknown flag is a TypeError rather
than false.
"""


def _logic(r: Registers, value: int, bits: int) -> int:
    r[CF] = r[OF] = 0
    r[ZF], r[SF] = int(value == 0), value >> bits - 1
    return value


def _add(r: Registers, a: int, b: int, bits: int) -> int:
    value = a + b & (1 << bits) - 1
    _logic(r, value, bits)
    r[CF] = a + b >> bits
    r[OF] = int((a ^ value) & (b ^ value) & 1 << bits - 1 != 0)
    return value


def _sub(r: Registers, a: int, b: int, bits: int) -> int:
    value = a - b & (1 << bits) - 1
    _logic(r, value, bits)
    r[CF] = int(a < b)
    r[OF] = int((a ^ b) & (a ^ value) & 1 << bits - 1 != 0)
    return value


def _shift(r: Registers, value: int, count: int, bits: int) -> int:
    """Set the flags of a shift. A count of 0 would keep them; they count as unknown then too."""
    _logic(r, value, bits)
    r[CF] = r[OF] = None
    if count & bits - 1 == 0:
        r[ZF] = r[SF] = None
    return value


def _shl(r: Registers, a: int, b: int, bits: int) -> int:
    return _shift(r, a << (b & bits - 1) & (1 << bits) - 1, b, bits)


def _shr(r: Registers, a: int, b: int, bits: int) -> int:
    return _shift(r, a >> (b & bits - 1), b, bits)


def _keep_carry(function: Callable[[Registers, int, int, int], int]) -> Callable[..., int]:
    def kept(r: Registers, a: int, bits: int) -> int:
        carry = r[CF]
        value = function(r, a, 1, bits)
        r[CF] = carry
        return value

    return kept


def _bzhi(r: Registers, a: int, b: int, bits: int) -> int:
    count = b & 0xFF
    value = a & (1 << count) - 1 if count < bits else a
    _logic(r, value, bits)
    r[CF] = int(count >= bits)
    return value


TWO: Mapping[str, str] = {
    "add": "ADD(r, {a}, {b}, {n})",
    "sub": "SUB(r, {a}, {b}, {n})",
    "and": "LOGIC(r, {a} & {b}, {n})",
    "or": "LOGIC(r, {a} | {b}, {n})",
    "xor": "LOGIC(r, {a} ^ {b}, {n})",
    "shl": "SHL(r, {a}, {b}, {n})",
    "shr": "SHR(r, {a}, {b}, {n})",
}
"""Instructions that read and write their first operand."""

COMPARE: Mapping[str, str] = {"cmp": "SUB(r, {a}, {b}, {n})", "test": "LOGIC(r, {a} & {b}, {n})"}

ONE: Mapping[str, str] = {
    "neg": "SUB(r, 0, {a}, {n})",
    "inc": "INC(r, {a}, {n})",
    "dec": "DEC(r, {a}, {n})",
}

FUNCTIONS = {
    "LOGIC": _logic,
    "ADD": _add,
    "SUB": _sub,
    "SHL": _shl,
    "SHR": _shr,
    "BZHI": _bzhi,
    "INC": _keep_carry(_add),
    "DEC": _keep_carry(_sub),
}
