"""The arithmetic flags: each a known bit, or open with the reason and with what it may depend on.

A flag is worked out where an instruction sets it. On numbers of `bits` bits, unknowns included, it
is exact for the whole range or it is open: what is not decided for every value is never a bit. An
open flag remembers whether a secret may be in it, and a flag that an instruction leaves alone stays
what it was.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

from ghashgen.verify.core.refutation import Category, Refutation, unsupported
from ghashgen.verify.core.term import Term, secret
from ghashgen.verify.core.values import (
    Number,
    Pointer,
    UndecidedError,
    Value,
    as_signed,
    below,
    bit,
    combined,
    equals,
)
from ghashgen.verify.x86_64.elf import SECTION


class Why(StrEnum):
    """Why a flag is no known bit."""

    CALLER = "a condition depends on what the caller left"
    UNDEFINED = "a condition on flags that no row defines"
    UNDECIDED = "a comparison that depends on the unknown"
    ADDRESS = "a condition that depends on where a buffer lies"
    SECTION = "a condition that depends on where a section lies"


@dataclass(frozen=True, slots=True)
class Open:
    """A flag that is no known bit; `secret` if key, state or data may be in it."""

    why: Why
    secret: bool = False


Flag = bool | Open

UNDEFINED = Open(Why.UNDEFINED)


@dataclass(frozen=True, slots=True)
class Flags:
    """CF, ZF, SF, OF; `rest` stands for AF and PF, of which only the secrecy is followed."""

    carry: Flag
    zero: Flag
    sign: Flag
    overflow: Flag
    rest: Open = UNDEFINED

    def each(self) -> tuple[Flag, ...]:
        """Return all of them."""
        return self.carry, self.zero, self.sign, self.overflow, self.rest

    @property
    def secret(self) -> bool:
        """Whether one of them may depend on a secret."""
        return any(isinstance(flag, Open) and flag.secret for flag in self.each())


def all_open(why: Why, secret: bool = False) -> Flags:
    """Return flags of which nothing is known."""
    one = Open(why, secret)
    return Flags(one, one, one, one, one)


ENTRY = all_open(Why.CALLER)
"""What the caller left in them."""


def forgotten(flags: Flags, keep: bool) -> Flags:
    """Return the flags without reasons, and without bits unless `keep`; secrets stay secret."""

    def one(flag: Flag) -> Open:
        return Open(Why.UNDEFINED, isinstance(flag, Open) and flag.secret)

    def kept(flag: Flag) -> Flag:
        return flag if keep and isinstance(flag, bool) else one(flag)

    return Flags(
        kept(flags.carry), kept(flags.zero), kept(flags.sign), kept(flags.overflow), one(flags.rest)
    )


def _open(*values: Value) -> Open | None:
    """Return what every flag is if a secret or a caller's value enters, else None."""
    if any(isinstance(value, Term) for value in values):
        return Open(Why.CALLER, any(secret(value) for value in values))
    return None


def _decided(answer: bool | None) -> Flag:
    return Open(Why.UNDECIDED) if answer is None else answer


def _outside(number: Number | None, bits: int) -> Flag:
    """Return whether a sum of signed numbers overflows; None: a sign is not known."""
    if number is None:
        return Open(Why.UNDECIDED)
    low, high = below(number, -1 << bits - 1), below(number, 1 << bits - 1)
    if low or high is False:
        return True
    return False if low is False and high else Open(Why.UNDECIDED)


ADDRESS = Open(Why.ADDRESS)


def _unplaced(*values: Value) -> Flags:
    """Return flags of an operation on addresses, whose places nothing is known of."""
    sections = any(isinstance(v, Pointer) and v.region.startswith(SECTION) for v in values)
    one = Open(Why.SECTION) if sections else ADDRESS
    return Flags(one, one, one, one)


def of_sum(a: Value, b: Value, bits: int) -> Flags:
    """Return the flags of a + b, operands of `bits` bits (SDM vol. 2A, ADD)."""
    entered = _open(a, b)
    if entered:
        return Flags(entered, entered, entered, entered, entered)
    if isinstance(a, Pointer) or isinstance(b, Pointer):
        return _unplaced(a, b)
    assert not isinstance(a, Term)
    assert not isinstance(b, Term)
    try:
        total = combined(a, b, 1)
        first, second = as_signed(a, bits), as_signed(b, bits)
        both = None if first is None or second is None else combined(first, second, 1)
    except UndecidedError:
        return all_open(Why.UNDECIDED)
    carry = below(total, 1 << bits)
    none, all_bits = equals(total, 0), equals(total, 1 << bits)
    zero = True if none or all_bits else None if None in (none, all_bits) else False
    return Flags(
        _decided(None if carry is None else not carry),
        _decided(zero),
        _decided(bit(total, bits - 1)),
        _outside(both, bits),
    )


def of_difference(a: Value, b: Value, bits: int, inside: Callable[[Pointer], bool]) -> Flags:
    """Return the flags of a - b, operands of `bits` bits (SDM vol. 2B, SUB and CMP).

    `inside` says whether an address certainly lies in its buffer, or just behind it: addresses
    that do compare as their offsets do, others may have wrapped around.
    """
    entered = _open(a, b)
    if entered:
        return Flags(entered, entered, entered, entered, entered)
    try:
        if isinstance(a, Pointer) or isinstance(b, Pointer):
            return _of_addresses(a, b, inside)
        assert not isinstance(a, Term)
        assert not isinstance(b, Term)
        difference = combined(a, b, -1)
        first, second = as_signed(a, bits), as_signed(b, bits)
        both = None if first is None or second is None else combined(first, second, -1)
    except UndecidedError:
        return all_open(Why.UNDECIDED)
    return Flags(
        _decided(below(difference, 0)),
        _decided(equals(difference, 0)),
        _decided(bit(difference, bits - 1)),
        _outside(both, bits),
    )


def _of_addresses(a: Value, b: Value, inside: Callable[[Pointer], bool]) -> Flags:
    if not (isinstance(a, Pointer) and isinstance(b, Pointer) and a.region == b.region):
        return _unplaced(a, b)
    if a.region.startswith(SECTION):
        return _unplaced(a)
    difference = combined(a.offset, b.offset, -1)
    ordered = inside(a) and inside(b)
    near = below(difference, 1 << 64) and below(difference, 1 - (1 << 64)) is False
    return Flags(
        _decided(below(difference, 0)) if ordered else ADDRESS,
        _decided(equals(difference, 0)) if near else ADDRESS,
        _decided(bit(difference, 63)),
        ADDRESS,
    )


def of_result(result: Value, bits: int, carry: Flag, overflow: Flag, *operands: Value) -> Flags:
    """Return ZF and SF by a result of `bits` bits, with these CF and OF.

    AF and PF depend on the operands too, for all that is known of them.
    """
    entered = _open(result, *operands)
    rest = Open(Why.UNDEFINED, entered is not None and entered.secret)
    if isinstance(result, Term):
        zero = sign = _open(result) or rest
        return Flags(carry, zero, sign, overflow, rest)
    if isinstance(result, Pointer):
        where = _unplaced(result)
        return Flags(carry, where.zero, where.sign, overflow, rest)
    return Flags(
        carry, _decided(equals(result, 0)), _decided(bit(result, bits - 1)), overflow, rest
    )


def undefined(*values: Value) -> Open:
    """Return a flag that the manual leaves undefined, or that no row works out."""
    entered = _open(*values)
    return Open(Why.UNDEFINED, entered is not None and entered.secret)


def with_carry(flags: Flags, carry: Flag) -> Flags:
    """Return the flags with another CF."""
    return replace(flags, carry=carry)


def read(flag: Flag, at: int) -> bool:
    """Return a flag that a condition asks for.

    Raises:
        Refutation: it depends on a secret, or is no known bit.
        UndecidedError: it depends on the unknown.
    """
    if isinstance(flag, bool):
        return flag
    if flag.secret:
        raise Refutation(Category.CONSTANT_TIME, "a condition depends on a secret", at=at)
    match flag.why:
        case Why.CALLER:
            raise Refutation(Category.FUNCTION, flag.why, at=at)
        case Why.UNDECIDED:
            raise UndecidedError(flag.why)
    raise unsupported(flag.why, at)


def carry(flags: Flags, at: int) -> bool:
    """Return CF."""
    return read(flags.carry, at)


def zero(flags: Flags, at: int) -> bool:
    """Return ZF."""
    return read(flags.zero, at)


def negative(flags: Flags, at: int) -> bool:
    """Return SF."""
    return read(flags.sign, at)


def overflow(flags: Flags, at: int) -> bool:
    """Return OF."""
    return read(flags.overflow, at)


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
