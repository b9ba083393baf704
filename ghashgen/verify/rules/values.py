"""Values of an assertion: what they are where its unknowns are numbers and values of a state."""

import re
from collections.abc import Callable, Mapping

from ghashgen.verify.core.numbers import Number, parse, replaced
from ghashgen.verify.core.refutation import unsupported
from ghashgen.verify.core.term import Lane, Term
from ghashgen.verify.core.values import Pointer, Value
from ghashgen.verify.rules.assertion import require_known
from ghashgen.verify.rules.meaning import Meaning


def value_of(
    v: object,
    numbers: Mapping[str, Number],
    bits: int,
    unknown_value: Callable[[str, int], Value],
    meaning: Meaning,
    left: Mapping[str, Value],
) -> Value:
    """Return what a value of an assertion is; `left` is what the caller left in registers.

    Raises:
        Refutation: there is no such value.
    """

    def number(text: object) -> Number:
        found = parse(text)
        require_known(found, numbers, "a value")
        return replaced(found, numbers)

    def part(x: object) -> Lane:
        return _lane(value_of(x, numbers, 128, unknown_value, meaning, left))

    def named(x: object) -> Number:
        match x:
            case ["n", text]:
                return number(text)
        raise unsupported(f"no part of a term: {x!r}")

    match v:
        case ["n", text]:
            return number(text)
        case ["p", str(region), text]:
            return Pointer(region, number(text))
        case ["c", str(text)] if _HEX.fullmatch(text):
            return int(text, 16)
        case ["v", str(name)]:
            return unknown_value(name, bits)
        case ["@", str(name)] if name in left:
            return left[name]
        case ["t", "xor", a, b]:
            return meaning.terms.xor(part(a), part(b))
        case ["t", "moves", a, list(moves)]:
            if id(moves) not in meaning.terms.read:  # Held there, it keeps its identity.
                meaning.terms.read[id(moves)] = moves, tuple(map(_move, moves))
            return meaning.terms.moves(part(a), meaning.terms.read[id(moves)][1])
        case ["t", *rest]:
            return meaning.value([x if type(x) in (str, int) else named(x) for x in rest])
    raise unsupported(f"no value: {v!r}")


_HEX = re.compile("0x[0-9a-f]{1,32}")


def _move(data: object) -> tuple[int, int]:
    match data:
        case [int(shift), str(keep)] if abs(shift) < 128 and _HEX.fullmatch(keep):
            return shift, int(keep, 16)
    raise unsupported(f"no bits that are moved: {data!r}")


def _lane(value: Value) -> Lane:
    if isinstance(value, Term) or (isinstance(value, int) and 0 <= value < 1 << 128):
        return value
    raise unsupported("an address, or a number that is no lane, in a term")
