"""The arithmetic flags: each a known bit, or open with the reason and with what it may depend on.

A flag is worked out where an instruction sets it. On numbers of `bits` bits, unknowns included, it
is exact for the whole range or it is open: what is not decided for every value is never a bit. An
open flag remembers whether a secret may be in it, and a flag that an instruction leaves alone stays
what it was.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from ghashgen.verify.core.kinds import EQUAL
from ghashgen.verify.core.refutation import Category, Refutation, unsupported
from ghashgen.verify.core.term import CALLER, SECRET, Lane, Term, deps_of, parts_of
from ghashgen.verify.core.values import (
    Affine,
    Number,
    Pointer,
    UndecidedError,
    Value,
    as_signed,
    below,
    bit,
    combined,
    equals,
    signed,
    times,
)
from ghashgen.verify.x86_64.elf import SECTION


class Why(StrEnum):
    """Why a flag is no known bit."""

    CALLER = "a condition depends on what the caller left, or on what a loop's cut forgot"
    UNDEFINED = "a condition on flags that no row defines"
    UNDECIDED = "a comparison that depends on the unknown"
    ADDRESS = "a condition that depends on where a buffer lies"
    SECTION = "a condition that depends on where a section lies"


@dataclass(frozen=True, slots=True)
class Open:
    """A flag that is no known bit; `secret` if key, state or data may be in it."""

    why: Why
    secret: bool = False
    value: Term | None = None
    """Of ZF: what it says of, whether it is 0."""


class SecretCondition(Refutation):
    """A condition that depends on a secret: whether `value` is 0, if it is not None."""

    def __init__(self, value: Term | None, at: int) -> None:
        super().__init__(Category.CONSTANT_TIME, "a condition depends on a secret", at=at)
        self.value = value

    def __reduce__(self) -> tuple[Any, ...]:
        # Of a refutation no term goes to another process.
        rebuilt, (category, message, state) = super().__reduce__()
        return rebuilt, (category, message, {**state, "value": None})


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
    at_most: bool | None = None
    """CF or ZF, where that is known though neither may be: a <= b of a comparison."""

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
    """Return what every flag is if a secret, a caller's or an unknown value enters, else None."""
    if not any(isinstance(value, Term) for value in values):
        return None
    known = deps_of(*values) & (SECRET | CALLER)
    return Open(Why.CALLER if known else Why.UNDECIDED, bool(known & SECRET))


def _decided(answer: bool | None) -> Flag:
    return Open(Why.UNDECIDED) if answer is None else answer


def _outside(number: Number | None, low: int, high: int) -> Flag:
    """Return whether a number is not in [low, high); None: the number is not known."""
    if number is None:
        return Open(Why.UNDECIDED)
    under, inside = below(number, low), below(number, high)
    if under or inside is False:
        return True
    return False if under is False and inside else Open(Why.UNDECIDED)


ADDRESS = Open(Why.ADDRESS)


def _unplaced(*values: Value) -> Flags:
    """Return flags of an operation on addresses, whose places nothing is known of."""
    sections = any(isinstance(v, Pointer) and v.region.startswith(SECTION) for v in values)
    return alike(_open(*values) or (Open(Why.SECTION) if sections else ADDRESS))


def of_sum(a: Value, b: Value, bits: int) -> Flags:
    """Return the flags of a + b, operands of `bits` bits (SDM vol. 2A, ADD)."""
    if isinstance(a, Pointer) or isinstance(b, Pointer):
        return _unplaced(a, b)
    return _of_total(a, b, bits, 1)


def of_difference(a: Value, b: Value, bits: int, inside: Callable[[Pointer], bool]) -> Flags:
    """Return the flags of a - b, operands of `bits` bits (SDM vol. 2B, SUB and CMP).

    `inside` says whether an address certainly lies in its buffer, or just behind it: addresses
    that do compare as their offsets do, others may have wrapped around.
    """
    if isinstance(a, Pointer) or isinstance(b, Pointer):
        return _of_addresses(a, b, inside)
    return _of_total(a, b, bits, -1)


def _of_total(a: Number | Term, b: Number | Term, bits: int, sign: int) -> Flags:
    """Return the flags of a + sign·b: CF says that it leaves the unsigned range, OF the signed."""
    if isinstance(a, Term) or isinstance(b, Term):
        every = _open(a, b)
        assert every is not None
        if isinstance(a, Term) and b == 0:
            return replace(alike(every), zero=replace(every, value=a))
        if sign < 0 and isinstance(a, Term) and a.op == EQUAL and b == a.mask:
            # All ones, exactly if what is compared is equal.
            (difference,) = parts_of(a)
            return replace(alike(every), zero=replace(every, value=difference))
        return alike(every)
    try:
        total = combined(a, b, sign)
        first, second = as_signed(a, bits), as_signed(b, bits)
        both = None if first is None or second is None else combined(first, second, sign)
    except UndecidedError:
        return alike(Open(Why.UNDECIDED))
    zeros = equals(total, 0), equals(total, 1 << bits)
    zero = True if True in zeros else None if None in zeros else False
    half = 1 << bits - 1
    return Flags(
        _outside(total, 0, 1 << bits),
        _decided(zero),
        _decided(bit(total, bits - 1)),
        _outside(both, -half, half),
        at_most=below(total, 1) if sign < 0 else None,
    )


def _of_addresses(a: Value, b: Value, inside: Callable[[Pointer], bool]) -> Flags:
    if not (isinstance(a, Pointer) and isinstance(b, Pointer) and a.region == b.region):
        return _unplaced(a, b)
    if a.region.startswith(SECTION):
        return _unplaced(a)
    try:
        difference = combined(a.offset, b.offset, -1)
    except UndecidedError:
        return alike(Open(Why.UNDECIDED))
    ordered = inside(a) and inside(b)
    near = below(difference, 1 << 64) and below(difference, 1 - (1 << 64)) is False
    return Flags(
        _decided(below(difference, 0)) if ordered else ADDRESS,
        _decided(equals(difference, 0)) if near else ADDRESS,
        _decided(bit(difference, 63)),
        ADDRESS,
    )


def of_product(a: Value, b: Value, bits: int) -> Flags:
    """Return the flags of a·b in `bits` bits (SDM vol. 2A, IMUL): CF and OF say that it is wider.

    ZF and SF are undefined, as AF and PF are.
    """
    rest = undefined(a, b)
    product: Number | None = None
    if isinstance(a, int | Affine) and isinstance(b, int):
        first = as_signed(a, bits)
        product = None if first is None else times(first, signed(b, bits))
    wider = _open(a, b) or _outside(product, -1 << bits - 1, 1 << bits - 1)
    return Flags(wider, rest, rest, wider, rest)


def of_test(lanes: Sequence[Lane], others: Sequence[Lane]) -> Flags:
    """Return the flags of PTEST (SDM vol. 2B): ZF says that `lanes` are 0, CF that `others` are.

    OF, SF, AF and PF are cleared; of the last two no more is said than of every other operation.
    """
    return Flags(_zero(others), _zero(lanes), False, False, undefined(*lanes, *others))


def _zero(lanes: Sequence[Lane]) -> Flag:
    open_lanes = [lane for lane in lanes if isinstance(lane, Term)]
    if any(isinstance(lane, int) and lane for lane in lanes):
        return False
    entered = _open(*open_lanes)
    if entered is None:
        return True
    # It says so of one value, or of nothing that has a name here.
    return replace(entered, value=open_lanes[0] if len(open_lanes) == 1 else None)


def of_result(result: Value, bits: int, carry: Flag, overflow: Flag, *operands: Value) -> Flags:
    """Return ZF and SF by a result of `bits` bits, with these CF and OF.

    AF and PF depend on the operands too, for all that is known of them.
    """
    entered = _open(result, *operands)
    rest = Open(Why.UNDEFINED, entered is not None and entered.secret)
    if isinstance(result, Term):
        sign = _open(result) or rest
        return Flags(carry, replace(sign, value=result), sign, overflow, rest)
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


def read(flag: Flag, at: int) -> bool:
    """Return a flag that a condition asks for.

    Raises:
        Refutation: it depends on a secret, or is no known bit.
        UndecidedError: it depends on the unknown.
    """
    if isinstance(flag, bool):
        return flag
    if flag.secret:
        raise SecretCondition(flag.value, at)
    match flag.why:
        case Why.CALLER:
            raise Refutation(Category.FUNCTION, flag.why, at=at)
        case Why.UNDECIDED:
            raise UndecidedError(flag.why)
    raise unsupported(flag.why, at)


Test = Callable[[Flags, int], bool]


def _less(f: Flags, at: int) -> bool:
    return read(f.sign, at) != read(f.overflow, at)


def _at_most(f: Flags, at: int) -> bool:
    if f.at_most is not None:
        return f.at_most
    return read(f.carry, at) or read(f.zero, at)


def _opposite(test: Test) -> Test:
    return lambda f, at: not test(f, at)


PAIRS: tuple[tuple[str, str, Test], ...] = (
    ("o", "no", lambda f, at: read(f.overflow, at)),
    ("b", "ae", lambda f, at: read(f.carry, at)),
    ("e", "ne", lambda f, at: read(f.zero, at)),
    ("be", "a", _at_most),
    ("s", "ns", lambda f, at: read(f.sign, at)),
    ("l", "ge", _less),
    ("le", "g", lambda f, at: read(f.zero, at) or _less(f, at)),
)
"""Intel SDM vol. 1, appendix B, table B-1: conditions by their suffix, each with the one that its
lowest bit negates (parity is not modelled)."""

CONDITIONS: dict[str, Test] = {
    **{suffix: test for suffix, _, test in PAIRS},
    **{suffix: _opposite(test) for _, suffix, test in PAIRS},
}
"""What each condition asks of the flags, by its suffix."""
