"""The state and the length at a piece's entry, and the states that an induction covers.

Two numbers have an unknown: the length so far and the piece's length, n. Where their sum is
compared with the maximum, the proof knows that it is no larger (`core.values.Sum`).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.verify.core.limits import EVERY
from ghashgen.verify.core.values import (
    Affine,
    Number,
    Sum,
    UndecidedError,
)
from ghashgen.verify.engine.cut import least
from ghashgen.verify.engine.family import Numbers
from ghashgen.verify.engine.induction import Course
from ghashgen.verify.gcm.named import GREATEST
from ghashgen.verify.gcm.stream import (
    ASSOCIATED,
    PLACES,
    TEXT_BEGUN,
)
from ghashgen.verify.hash.entry import HashEntry

HELD = {"aad_length": "AAD so far", "length": "text so far", "phase": "phase"}
"""The numbers of a state (`stream.PLACES`), by their names beside those of a call."""

IN_ALL = "in all"
"""The sum of a length so far and the length of a piece."""

BEGUN, INPUT = "W", "T0"
"""The variables of X with the bytes of the begun block, and of that block's bytes in the input: T1
is the first after it.
"""

ANY = {
    place: Affine(1, 0, 0, EVERY, f"{HELD[number]}, any")
    for number, place in PLACES.items()
    if number != "phase"
}
"""What replaces a length in the state after the first cut, by its place."""


@dataclass
class PieceEntry(HashEntry):
    """An entry from a state, whose numbers a call has beside its own."""

    weights: dict[str, int] = field(default_factory=dict)
    before: dict[str, Number] = field(default_factory=dict)
    """The numbers of the state on entry, by their names in `PLACES`."""
    length: Number = 0
    """Bytes of the piece."""
    place: int = 0
    """p: the bytes in the begun block."""
    first: bool = True
    """Whether there has been no cut yet."""

    @property
    def room(self) -> int:
        """k: the bytes that the begun block can still take."""
        return -self.place % BLOCK_BYTES

    @property
    def taken(self) -> int:
        """Return the bytes that it takes of the piece."""
        return min(self.room, least(self.length))


@dataclass(frozen=True)
class PieceCourse(Course):
    """An induction over a piece's length, from states of one place; `held` is the length so far."""

    held: str = ""
    """The number of the state to which the piece's length is added."""

    def numbers(self, value: Number) -> Numbers:
        """Return all numbers for a piece of this length, small enough for the maximum."""
        before, most = self.others[self.held], self.claim.bound
        if isinstance(before, int):
            return super().numbers(value)
        if isinstance(value, int):
            room = (most - value - before.offset) // before.scale
            return {**super().numbers(value), self.held: replace(before, high=room)}
        # scale·u + scale'·v is their sum, minus what has no unknown.
        total = Affine(1, 0, 0, most, IN_ALL)
        rest = total.plus(-before.offset - value.offset)
        known = Sum(before.scale, value.unknown, value.scale, rest)
        return {**super().numbers(value), self.held: replace(before, sum=known)}


def place_of(so_far: Number) -> int:
    """Return how many bytes of its last block a length covers, 0 if it is full.

    Raises:
        UndecidedError: that depends on the unknown.
    """
    if isinstance(so_far, int):
        return so_far % BLOCK_BYTES
    if so_far.scale % BLOCK_BYTES:
        raise UndecidedError("a length so far of which the bytes of a begun block are not known")
    return so_far.offset % BLOCK_BYTES


NO_MESSAGE: tuple[Number, ...] = (0, Affine(1, 0, TEXT_BEGUN + 1, EVERY, HELD["phase"]))
"""Phases that belong to no message."""


def too_long(state: Numbers, name: str, so_far: Number) -> Numbers:
    """Return a call with more bytes than the limit leaves; `name` is the parameter."""
    most, length = GREATEST[name], Affine(1, 0, 1, EVERY, name)
    if isinstance(so_far, int):
        length = replace(length, low=most + 1 - so_far)
    else:
        total = Affine(1, 0, most + 1, most + EVERY, IN_ALL)
        so_far = replace(so_far, sum=Sum(1, name, 1, total))
    return {**state, HELD[name]: so_far, name: length}


def misplaced(name: str, phases: Iterable[Number]) -> Iterator[Numbers]:
    """Yield calls with any numbers in a phase that does not permit them."""
    anything = {held: Affine(1, 0, 0, EVERY, held) for held in HELD.values()}
    for phase in phases:
        yield {**anything, HELD["phase"]: phase, name: Affine(1, 0, 0, EVERY, name)}


def few(courses: Iterable[PieceCourse], name: str, phases: tuple[int, ...]) -> Iterator[Numbers]:
    """Yield some calls from fully known states.

    A fault in one of them is reported for what it is.
    """
    for k, course in enumerate(courses):
        known = {
            held: number if isinstance(number, int) else number.at(number.low + 2)
            for held, number in course.others.items()
        }
        for length in (1, 5, 16, 17, 40) if k % 5 == 0 else (1,):
            yield {**known, name: length}
        if k == 1:
            yield from _around(known, name, phases)


def _around(state: Numbers, name: str, phases: tuple[int, ...]) -> Iterator[Numbers]:
    """Yield calls just inside and outside of the limits."""
    for length in (5, 6, (1 << 32) + 5, EVERY):
        yield {**state, HELD[name]: GREATEST[name] - 5, name: length}
    for phase in sorted({0, ASSOCIATED, TEXT_BEGUN, TEXT_BEGUN + 1} - {*phases}):
        yield {**state, HELD["length"]: 20, HELD["phase"]: phase, name: 1}
