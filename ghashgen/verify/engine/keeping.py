"""Which kinds of value survive a cut, and where: a whitelist by kind and by place.

A value survives if it means the same however the run arrived at the cut. For some kinds that
depends on the place. A cut moves pointers in registers and on the stack only, so a pointer anywhere
else would still mean where the buffer *was* (docs/proof.md, "What survives a cut").
"""

from collections.abc import Mapping
from enum import Enum

from ghashgen.verify.core.term import Lane, Term, of_table
from ghashgen.verify.core.values import Affine, Linear, Pointer, Value
from ghashgen.verify.machine.memory import is_return_address


class Place(Enum):
    """Where a value is."""

    REGISTER = "a general register"
    MASK = "a mask register"
    VECTOR = "a lane of a vector register"
    FRAME = "the function's own stack"
    ARGUMENT = "an argument on the stack"
    BUFFER = "a buffer that the caller passed"


class Kind(Enum):
    """What a cut knows of a value."""

    CONSTANT = "a number that is known"
    LENGTH = "a number with an unknown"
    ADDRESS = "an address"
    RETURN = "a return address"
    CALLER = "what the caller left"
    TABLE = "a function of the table alone"
    OTHER = "anything else"


NUMBERS = (Kind.CONSTANT, Kind.LENGTH)
"""Public numbers. They do not move, and a function's meaning may place them in a buffer
(`ghashgen.verify.engine.family.Kept`).
"""

EVERYWHERE = frozenset(Place)

MAY_STAND: Mapping[Kind, frozenset[Place]] = {
    Kind.CONSTANT: EVERYWHERE - {Place.ARGUMENT},
    Kind.LENGTH: frozenset({Place.REGISTER, Place.FRAME}),
    Kind.ADDRESS: frozenset({Place.REGISTER, Place.FRAME, Place.ARGUMENT}),
    Kind.RETURN: frozenset({Place.FRAME}),
    Kind.CALLER: EVERYWHERE,
    Kind.TABLE: EVERYWHERE,
    Kind.OTHER: frozenset(),
}
"""Where a value of each kind survives a cut. Numbers among the arguments do not: a length that is
passed on the stack means another thing after each turn. A return address stays where CALL pushed
it, and no load may read it.
"""


def kind_of(value: Value) -> Kind:
    """Return the kind of a value."""
    match value:
        case int():
            return Kind.CONSTANT
        case Affine():
            return Kind.OTHER if value.sum is not None else Kind.LENGTH
        case Linear():
            raise AssertionError("a number of the other checker")
        case Pointer():
            # A relation between two unknowns is about their values at the entry.
            several = isinstance(value.offset, Affine) and value.offset.sum is not None
            return Kind.OTHER if several else Kind.ADDRESS
        case Term():
            if value.op == "caller":
                return Kind.CALLER
            if is_return_address(value):
                return Kind.RETURN
            return Kind.TABLE if of_table(value) else Kind.OTHER


def kept(value: Value, place: Place, renamed: Mapping[Term, Lane]) -> Value | None:
    """Return a value after the cut, or None if it means nothing there.

    `renamed` maps what the function's meaning keeps at such a place to its new names.
    """
    if isinstance(value, Term) and value in renamed:
        return renamed[value]
    return value if place in MAY_STAND[kind_of(value)] else None
