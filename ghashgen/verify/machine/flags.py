"""The arithmetic flags: each a known bit, or open with a reason and its dependences.

A flag is computed when an instruction sets it. On numbers of `bits` bits, unknowns included, it is
exact for all their values or open: a bit that is not the same for every value is never known. An
open flag remembers whether a secret may be in it. Instructions that do not set a flag keep it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from ghashgen.verify.core.kinds import EQUAL
from ghashgen.verify.core.linear import Facts
from ghashgen.verify.core.numbers import Number, combined
from ghashgen.verify.core.refutation import Category, Refutation, unsupported
from ghashgen.verify.core.term import CALLER, SECRET, Term, deps_of, parts_of
from ghashgen.verify.core.values import Linear, Pointer, UndecidedError, Value
from ghashgen.verify.machine.image import SECTION

if TYPE_CHECKING:
    from ghashgen.verify.machine.machine import Machine


class Why(StrEnum):
    """Why a flag is not a known bit."""

    CALLER = "a condition depends on what the caller left"
    UNDEFINED = "a condition on flags that no row defines"
    UNDECIDED = "a comparison that depends on the unknown"
    ADDRESS = "a condition that depends on where a buffer or a section lies"


@dataclass(frozen=True, slots=True)
class Open:
    """A flag that is not a known bit; `secret` if key, state or data may be in it."""

    why: Why
    secret: bool = False
    value: Term | None = None
    """For ZF: the value that is 0 exactly if the flag is set."""
    number: Number | None = None
    """For an undecided comparison: the number that is negative exactly if the flag is set."""
    equal: bool = False
    """Whether that number is not negative then, but 0."""


class SecretCondition(Refutation):
    """A condition that depends on a secret: whether `value` is 0, if it is not None."""

    def __init__(self, value: Term | None, at: int) -> None:
        super().__init__(Category.CONSTANT_TIME, "a condition depends on a secret", at=at)
        self.value = value


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
    at_most: Flag | None = None
    """CF or ZF, if it says more than they do: a <= b of a comparison."""
    less: Flag | None = None
    """SF other than OF, likewise: a < b of a signed comparison."""

    def each(self) -> tuple[Flag, ...]:
        """Return all of them."""
        return self.carry, self.zero, self.sign, self.overflow, self.rest

    @property
    def secret(self) -> bool:
        """Whether one of them may depend on a secret."""
        return any(isinstance(flag, Open) and flag.secret for flag in self.each())


def alike(one: Open) -> Flags:
    """Return flags of which nothing else is known."""
    return Flags(one, one, one, one, one)


ENTRY = alike(Open(Why.CALLER))
"""The flags that the caller left."""


def _open(*values: Value) -> Open | None:
    """Return every flag's value if an operand is a secret, a caller's or an unknown value, else
    None.
    """
    if not any(isinstance(value, Term) for value in values):
        return None
    known = deps_of(*values) & (SECRET | CALLER)
    return Open(Why.CALLER if known else Why.UNDECIDED, bool(known & SECRET))


def _decided(answer: bool | None) -> Flag:
    return Open(Why.UNDECIDED) if answer is None else answer


def _below(facts: Facts, number: Number, bound: int) -> Flag:
    """Return whether a number is below a bound."""
    answer = facts.below(number, bound)
    if answer is None and isinstance(number, Linear):
        return Open(Why.UNDECIDED, number=combined(number, -bound))
    return _decided(answer)


def _equals(facts: Facts, number: Number, value: int) -> Flag:
    answer = facts.equals(number, value)
    if answer is None and isinstance(number, Linear):
        return Open(Why.UNDECIDED, number=combined(number, -value), equal=True)
    return _decided(answer)


def _negative(facts: Facts, number: Number, bits: int) -> Flag:
    """Return the sign bit of a number of `bits` bits."""
    half = 1 << bits - 1
    if facts.below(number, -half) is False and facts.below(number, half):
        return _below(facts, number, 0)
    if facts.below(number, 0) is False and facts.below(number, 2 * half):
        return _below(facts, combined(half - 1, number, -1), 0)
    return _decided(facts.bit(number, bits - 1))


def _outside(facts: Facts, number: Number | None, low: int, high: int) -> Flag:
    """Return whether a number is outside [low, high); None: the number is not known."""
    if number is None:
        return Open(Why.UNDECIDED)
    under, inside = facts.below(number, low), facts.below(number, high)
    if under or inside is False:
        return True
    if under is False:
        return _below(facts, combined(high - 1, number, -1), 0)
    return _below(facts, number, low) if inside else Open(Why.UNDECIDED)


ADDRESS = Open(Why.ADDRESS)


def _unplaced(*values: Value) -> Flags:
    """Return the flags of an operation on addresses, whose values are unknown."""
    return alike(_open(*values) or ADDRESS)


def of_sum(facts: Facts, a: Value, b: Value, bits: int) -> Flags:
    """Return the flags of a + b, operands of `bits` bits (SDM vol. 2A, ADD)."""
    if isinstance(a, Pointer) or isinstance(b, Pointer):
        return _unplaced(a, b)
    return _of_total(facts, a, b, bits, 1)


def of_difference(
    facts: Facts, a: Value, b: Value, bits: int, inside: Callable[[Pointer], bool]
) -> Flags:
    """Return the flags of a - b, operands of `bits` bits (SDM vol. 2B, SUB and CMP).

    `inside` says whether an address certainly lies in its buffer, or just after it. Such addresses
    compare like their offsets; others may have wrapped around.
    """
    if isinstance(a, Pointer) or isinstance(b, Pointer):
        return _of_addresses(facts, a, b, inside)
    return _of_total(facts, a, b, bits, -1)


def _of_total(facts: Facts, a: Number | Term, b: Number | Term, bits: int, sign: int) -> Flags:
    """Return the flags of a + sign·b: CF if it leaves the unsigned range, OF the signed range."""
    if isinstance(a, Term) or isinstance(b, Term):
        every = _open(a, b)
        assert every is not None
        if isinstance(a, Term) and b == 0:
            return replace(alike(every), zero=replace(every, value=a))
        if sign < 0 and isinstance(a, Term) and a.op == EQUAL and b == a.mask:
            # All ones, exactly if the operands are equal.
            (difference,) = parts_of(a)
            return replace(alike(every), zero=replace(every, value=difference))
        return alike(every)
    if isinstance(a, int) and isinstance(b, int):
        return _of_numbers(facts, a, b, bits, sign)
    key = a, b, bits, sign
    found: Flags | None = facts.found.get(key)
    if found is None:
        found = facts.found[key] = _of_numbers(facts, a, b, bits, sign)
    return found


def _of_numbers(facts: Facts, a: Number, b: Number, bits: int, sign: int) -> Flags:
    total = combined(a, b, sign)
    first, second = facts.as_signed(a, bits), facts.as_signed(b, bits)
    both = None if first is None or second is None else combined(first, second, sign)
    zeros = _equals(facts, total, 0), _equals(facts, total, 1 << bits)
    zero: Flag = True
    if True not in zeros:
        # Either is open, or neither is. Neither says anything about the pair.
        zero = zeros[0] if zeros[1] is False else zeros[1] if zeros[0] is False else _decided(None)
    half = 1 << bits - 1
    return Flags(
        _outside(facts, total, 0, 1 << bits),
        zero,
        _negative(facts, total, bits),
        _outside(facts, both, -half, half),
        at_most=_below(facts, total, 1) if sign < 0 else None,
        less=_below(facts, both, 0) if sign < 0 and both is not None else None,
    )


def _of_addresses(facts: Facts, a: Value, b: Value, inside: Callable[[Pointer], bool]) -> Flags:
    if not (isinstance(a, Pointer) and isinstance(b, Pointer) and a.region == b.region):
        return _unplaced(a, b)
    if a.region.startswith(SECTION):
        return _unplaced(a)
    difference = combined(a.offset, b.offset, -1)
    ordered = inside(a) and inside(b)
    near = facts.below(difference, 1 << 64) and facts.below(difference, 1 - (1 << 64)) is False
    return Flags(
        _below(facts, difference, 0) if ordered else ADDRESS,
        _equals(facts, difference, 0) if near else ADDRESS,
        _decided(facts.bit(difference, 63)),
        ADDRESS,
        at_most=_below(facts, difference, 1) if ordered else None,
    )


def of_result(
    facts: Facts, result: Value, bits: int, carry: Flag, overflow: Flag, *operands: Value
) -> Flags:
    """Return ZF and SF by a result of `bits` bits, with these CF and OF.

    AF and PF may depend on the operands too.
    """
    entered = _open(result, *operands)
    rest = Open(Why.UNDEFINED, entered is not None and entered.secret)
    if isinstance(result, Term):
        sign = _open(result) or rest
        return Flags(carry, replace(sign, value=result), sign, overflow, rest)
    if isinstance(result, Pointer):
        where = _unplaced(result)
        return Flags(carry, where.zero, where.sign, overflow, rest)
    zero, sign_bit = _equals(facts, result, 0), _negative(facts, result, bits)
    return Flags(carry, zero, sign_bit, overflow, rest)


def undefined(*values: Value) -> Open:
    """Return a flag that the manual leaves undefined, or that no row computes."""
    entered = _open(*values)
    return Open(Why.UNDEFINED, entered is not None and entered.secret)


def read(flag: Flag, facts: Facts, at: int) -> bool:
    """Return a flag that a condition needs.

    Raises:
        Refutation: it depends on a secret, or is not a known bit.
        UndecidedError: it depends on unknowns; a Fork if it is known how.
    """
    if isinstance(flag, bool):
        return flag
    if flag.number is not None:
        # More may be known by now than when the flag was set.
        return (facts.zero if flag.equal else facts.negative)(flag.number, flag.why)
    if flag.secret:
        raise SecretCondition(flag.value, at)
    match flag.why:
        case Why.CALLER:
            raise Refutation(Category.FUNCTION, flag.why, at=at)
        case Why.UNDECIDED:
            raise UndecidedError(flag.why)
    raise unsupported(flag.why, at)


Test = Callable[["Machine"], bool]
"""A condition."""


def of_flag(name: str) -> Test:
    """Return the test of one flag."""
    return lambda m: read(getattr(m.flags, name), m.facts, m.at)


def less(m: "Machine") -> bool:
    """Return whether a comparison found a < b, as signed numbers."""
    if m.flags.less is not None:
        return read(m.flags.less, m.facts, m.at)
    return read(m.flags.sign, m.facts, m.at) != read(m.flags.overflow, m.facts, m.at)


def at_most(m: "Machine") -> bool:
    """Return whether a comparison found a <= b, as unsigned numbers."""
    if m.flags.at_most is not None:
        return read(m.flags.at_most, m.facts, m.at)
    return read(m.flags.carry, m.facts, m.at) or read(m.flags.zero, m.facts, m.at)


def negated(test: Test) -> Test:
    """Return the opposite of a test."""
    return lambda m: not test(m)
