"""The arithmetic flags, as far as a comparison of lengths and pointers determines them.

A `Flags` records the operation that set them; a condition is worked out when a jump asks.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ghashgen.verify.elf import SECTION
from ghashgen.verify.refutation import Category, Refutation, unsupported
from ghashgen.verify.terms import Term, secret
from ghashgen.verify.values import (
    M64,
    Affine,
    Number,
    Pointer,
    UndecidedError,
    Value,
    number_difference,
    signed,
)


@dataclass(frozen=True, slots=True)
class Flags:
    """`kind` of operation ("sub", "add", "logic", "shift", "carry", "unknown"), operands, result.

    "logic" clears carry and overflow; "shift" has its carry in `b`; "carry" is INC and DEC, whose
    carry is that of `before`; `bits` is the operand size.
    """

    kind: str
    a: Value = 0
    b: Value = 0
    result: Value = 0
    bits: int = 64
    before: "Flags | None" = None


UNKNOWN = Flags("unknown")


Range = tuple[int, int]


def _range(a: Number) -> Range:
    return (a, a) if isinstance(a, int) else (a.least, a.greatest)


def _difference(a: Value, b: Value, at: int) -> Range:
    """Return the least and the greatest a - b, for numbers and pointers that never wrap."""
    if isinstance(a, Pointer) and isinstance(b, Pointer) and a.region == b.region:
        a, b = a.offset, b.offset
    if isinstance(a, int | Affine) and isinstance(b, int | Affine):
        if isinstance(a, int) and isinstance(b, Affine):
            least, greatest = _range(number_difference(b, a))
            return -greatest, -least
        return _range(number_difference(a, b))
    if isinstance(a, Pointer) and b == 0:
        return 1, M64
    raise unsupported("a comparison of addresses in different buffers", at)


def _below_zero(values: Range) -> bool:
    least, greatest = values
    if greatest < 0 or least >= 0:
        return greatest < 0
    raise UndecidedError("a comparison that depends on the unknown")


def _is_zero(values: Range) -> bool:
    least, greatest = values
    if least > 0 or greatest < 0 or least == greatest:
        return least == greatest == 0
    raise UndecidedError("a comparison that depends on the unknown")


def _check(flags: Flags, at: int) -> None:
    for value in (flags.a, flags.b, flags.result):
        if isinstance(value, Pointer) and value.region.startswith(SECTION):
            raise unsupported("a condition that depends on where a section lies", at)
        if isinstance(value, Term):
            if secret(value):
                raise Refutation(Category.CONSTANT_TIME, "a condition depends on a secret", at=at)
            raise Refutation(
                Category.FUNCTION, "a condition depends on what the caller left", at=at
            )
    if flags.kind == "unknown":
        raise unsupported("a condition on flags that no row defines", at)


def carry(flags: Flags, at: int) -> bool:
    """Return CF."""
    if flags.kind == "carry":
        assert flags.before is not None
        return carry(flags.before, at)
    _check(flags, at)
    if flags.kind == "logic":
        return False
    if flags.kind == "shift":
        return bool(flags.b)
    if flags.kind == "sub":
        return _below_zero(_difference(flags.a, flags.b, at))
    if isinstance(flags.a, int) and isinstance(flags.b, int):
        return flags.a + flags.b >> flags.bits != 0
    if isinstance(flags.a, int | Affine) and isinstance(flags.b, int | Affine):
        return _affine_carry(flags)
    raise unsupported("the carry of an address", at)


def _affine_carry(flags: Flags) -> bool:
    # x + (2^64 - c) carries exactly when x >= c; x + c with small c does not carry.
    length, amount = (flags.a, flags.b) if isinstance(flags.a, Affine) else (flags.b, flags.a)
    assert isinstance(length, Affine)
    if not isinstance(amount, int):
        raise UndecidedError("the carry of two unknowns")
    step = signed(amount)
    if step >= 0:
        if length.greatest + step > M64:
            raise UndecidedError("the carry of a length")
        return False
    return not _below_zero(_range(length.plus(step)))


def zero(flags: Flags, at: int) -> bool:
    """Return ZF."""
    _check(flags, at)
    if flags.kind == "sub":
        return _is_zero(_difference(flags.a, flags.b, at))
    result = flags.result
    if isinstance(result, Pointer):
        return False
    if isinstance(result, Affine):
        return _is_zero(_range(result))
    return result == 0


def negative(flags: Flags, at: int) -> bool:
    """Return SF."""
    _check(flags, at)
    if flags.kind == "sub" and not (isinstance(flags.a, int) and isinstance(flags.b, int)):
        return _below_zero(_difference(flags.a, flags.b, at))
    result = flags.result
    if isinstance(result, Affine):
        if result.greatest >> 63:
            raise UndecidedError("the sign bit of a length")
        return False
    if isinstance(result, Pointer):
        raise unsupported("the sign bit of an address", at)
    assert isinstance(result, int)
    return bool(result >> flags.bits - 1 & 1)


def overflow(flags: Flags, at: int) -> bool:
    """Return OF."""
    _check(flags, at)
    if flags.kind == "logic":
        return False
    if flags.kind == "shift":
        raise unsupported("the overflow flag of a shift", at)
    a, b, result = flags.a, flags.b, flags.result
    if isinstance(a, int) and isinstance(b, int) and isinstance(result, int):
        top = flags.bits - 1
        if flags.kind == "sub":
            return bool((a ^ b) & (a ^ result) & 1 << top)
        return bool(~(a ^ b) & (a ^ result) & 1 << top)
    for value in (a, b):
        if isinstance(value, int) and value >> 63 and flags.kind == "sub":
            raise UndecidedError("overflow of a length")
        if isinstance(value, Affine) and value.greatest >> 63:
            raise UndecidedError("overflow of a length")
    return False


Test = Callable[[Flags, int], bool]

CONDITIONS: dict[str, Test] = {
    "o": overflow,
    "no": lambda f, at: not overflow(f, at),
    "b": carry,
    "ae": lambda f, at: not carry(f, at),
    "e": zero,
    "ne": lambda f, at: not zero(f, at),
    "be": lambda f, at: carry(f, at) or zero(f, at),
    "a": lambda f, at: not (carry(f, at) or zero(f, at)),
    "s": negative,
    "ns": lambda f, at: not negative(f, at),
    "l": lambda f, at: negative(f, at) != overflow(f, at),
    "ge": lambda f, at: negative(f, at) == overflow(f, at),
    "le": lambda f, at: zero(f, at) or negative(f, at) != overflow(f, at),
    "g": lambda f, at: not zero(f, at) and negative(f, at) == overflow(f, at),
}
"""Intel SDM vol. 1, appendix B, table B-1: conditions by their suffix (parity is not modelled)."""
