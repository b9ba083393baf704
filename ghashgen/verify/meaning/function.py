"""One function's specification, put together of parts.

parameters   numbers and buffers, and what the buffers hold on entry
parts        what is followed through the run: what is hashed, the counter, the text
finish       what is left at the return
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.ops.forms import Form
from ghashgen.verify.core.linear import Case
from ghashgen.verify.core.numbers import Number, combined, times
from ghashgen.verify.core.refutation import Category, Difference, Refutation, unsupported
from ghashgen.verify.core.term import Lane, NotPolynomialError, Term
from ghashgen.verify.core.terms import Terms
from ghashgen.verify.core.values import Linear, Pointer, Value
from ghashgen.verify.machine.memory import Memory
from ghashgen.verify.machine.regions import Access, Region
from ghashgen.verify.meaning.algebra import KINDS
from ghashgen.verify.meaning.hashing import Blocks, partials
from ghashgen.verify.meaning.names import Names
from ghashgen.verify.rules.assertion import Assertion
from ghashgen.verify.rules.entry import Call, arguments
from ghashgen.verify.rules.state import State

Content = Callable[[Memory, Number], Lane | None]


class Part(Protocol):
    """Something that a specification follows through a run, by ghosts of its own."""

    name: str

    def begin(self) -> dict[str, object]:
        """Return its ghosts at the entry."""

    def ghosts(self, data: object, unknowns: Mapping[str, object]) -> dict[str, object]:
        """Return its ghosts as an assertion states them.

        Raises:
            Refutation: they are of another form.
        """

    def instance(
        self, state: State, to: Mapping[str, object], bound: Mapping[str, Value], where: str
    ) -> None:
        """Check that a state has the ghosts of an assertion.

        Raises:
            Refutation: it has not.
        """


@dataclass(frozen=True)
class Buffer:
    """A parameter that points to bytes: how many, or which number says how many."""

    access: Access
    size: int | str
    content: Content
    align: int = 1
    begins: str = ""
    """The number that is the place of its first byte, if that is not 0."""
    over: str = ""
    """The buffer that may be this one."""


def holding(lanes: Sequence[Lane | None]) -> Content:
    """Return what a buffer of these lanes holds, and None behind them."""

    def content(memory: Memory, at: Number) -> Lane | None:
        if not isinstance(at, int):
            raise unsupported("16 bytes at an unknown place of a buffer")
        index = at // BLOCK_BYTES
        return lanes[index] if 0 <= index < len(lanes) else None

    return content


def claim(spec: Any, function: Any) -> tuple[str, str, bool, tuple[str, ...]]:
    """Return what a statement says of a function: symbol, convention, wipe and parameters."""
    return function.symbol, spec.abi, spec.wipe, function.parameters


@dataclass
class Function:
    """One function."""

    symbol: str
    abi: str
    wipe: bool
    parameters: tuple[str, ...]
    names: Names
    buffers: Mapping[str, Buffer]
    numbers: Mapping[str, tuple[int, int]]
    parts: Sequence[Part]
    blocks: tuple[Blocks, ...]
    """The blocks that are read, of which the last may be partial."""
    finish: "Callable[[Function, State], None]"
    result_bits: int = 0
    vectors_named: bool = False
    multiple: int = 1
    """A length is so many times its number in bytes, and is passed in units of `unit` bytes."""
    unit: int = 1
    outputs: Mapping[str, "Output"] = field(default_factory=dict)
    """The buffers whose bytes each get one value, by their names."""
    values: Callable[[list[object]], Lane | None] = lambda data: None
    question: "Question | None" = None
    """What everybody may know of a secret."""
    held: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    """Numbers that are no parameters: the buffer that holds them, and where."""
    promised: tuple[Case, ...] = (Case(),)
    terms: Terms = field(init=False)

    def __post_init__(self) -> None:
        self.terms = self.names.terms

    # How it is called.

    def call(self, numbers: Mapping[str, Number], align: tuple[int, int]) -> Call:
        """Return how it is called where its numbers are these."""
        lengths = {name: times(n, self.multiple) for name, n in numbers.items()}
        regions, pointers = [], {}
        for name in self.parameters:
            if name in self.buffers:
                b = self.buffers[name]
                low = numbers[b.begins] if b.begins else 0
                pointers[name] = Pointer(name, low)
                end = combined(low, lengths[b.size] if isinstance(b.size, str) else b.size)
                region = Region(
                    name, low, end, b.access, _none, b.align, content=b.content, over=b.over
                )
                regions.append(region)
        passed = {name: times(n, self.multiple // self.unit) for name, n in numbers.items()}
        values = arguments(self.parameters, passed, pointers)
        held = tuple((*place, numbers[name]) for name, place in self.held.items())
        return Call(self.abi, values, tuple(regions), align, held)

    # Ghosts.

    def begin(self) -> dict[str, object]:
        """Return the ghosts at the entry."""
        return {key: ghost for part in self.parts for key, ghost in part.begin().items()}

    def ghosts(
        self, data: Mapping[str, object], unknowns: Mapping[str, object]
    ) -> dict[str, object]:
        """Return the ghosts that an assertion states, of every part."""
        names = [part.name for part in self.parts]
        if sorted(names) != sorted(data):
            raise unsupported(f"ghosts {', '.join(data)} where there are {', '.join(names)}")
        found = (part.ghosts(data[part.name], unknowns) for part in self.parts)
        return {key: ghost for one in found for key, ghost in one.items()}

    def instance(
        self,
        state: State,
        assertion: Assertion,
        to: Mapping[str, object],
        bound: Mapping[str, Value],
    ) -> None:
        """Check that a state's ghosts are what an assertion says."""
        where = f"{state.label} -> {assertion.name}: "
        for part in self.parts:
            part.instance(state, to, bound, where)

    def entering(self, state: State) -> None:
        """Make the terms ready for a run of this state."""
        found = (partials(blocks, state.memory) for blocks in self.blocks)
        self.names.enter(state, frozenset(one for some in found for one in some))
        for name, output in self.outputs.items():
            state.memory.regions[name].done = output.done(state.ghosts)

    def settled(self, state: State, region: str, to: Mapping[str, object], where: str) -> set[int]:
        """Return the written bytes of a buffer that an assertion may leave out: they are right.

        Raises:
            Refutation: they are not.
        """
        if region not in self.outputs:
            return set()
        return self.outputs[region].folded(state, to, where)

    def may_be_known(self, state: State, value: Term) -> bool:
        """Return whether everybody may know that a secret value is 0."""
        return self.question is not None and self.question.may_be_known(state, value)

    def answered(self, state: State, zero: bool) -> None:
        """Note whether that value is 0."""
        assert self.question is not None
        self.question.answered(state, zero)

    # Values.

    def named(self, lane: Lane) -> Lane:
        """Return a lane, or an equal value under a name."""
        return self.names.power(self.names.named(lane))

    def canonical(self, lane: Lane) -> Lane:
        """Return a lane with names for what has definitions in it."""
        return self.terms.name(self.names.named(lane))

    def value(self, data: list[object]) -> Lane:
        """Return a term that an assertion names."""
        match data:
            case ["entry", str(kind), int(power)] if _is_entry(kind, power):
                return self.terms.entry(kind, power)
            case ["block", str(letter), at] if isinstance(at, int | Linear):
                if letter in {one.letter for one in self.letters}:
                    return self.terms.variable(f"{letter}{at}")
        found = self.values(data)
        if found is None:
            raise unsupported(f"no term: {data!r}")
        return found

    @property
    def letters(self) -> tuple[Blocks, ...]:
        """The blocks that have names."""
        return self.blocks

    # What is left.

    def end(self, state: State) -> None:
        """Compare what is left at the return."""
        self.finish(self, state)

    def register(self, state: State, buffer: str, what: str, at: int = 0) -> Lane:
        """Return 16 bytes, all of them written, as a register.

        Raises:
            Refutation: one is not written, or they are no lane.
        """
        lane = self.cell(state, buffer, what, at)
        return self.terms.moves(lane, self.names.algebra.register)

    def cell(self, state: State, buffer: str, what: str, at: int = 0) -> Lane:
        """Return 16 bytes, all of them written, as they stand in memory."""
        memory = state.memory
        if any(at + k not in memory.written[buffer] for k in range(BLOCK_BYTES)):
            raise Refutation(Category.FUNCTION, f"{what} is not written")
        return self.held_in(state, buffer, what, at)

    def held_in(self, state: State, buffer: str, what: str, at: int = 0) -> Lane:
        """Return 16 bytes, written or not, as they stand in memory."""
        lane = state.memory.load(Pointer(buffer, at), BLOCK_BYTES)
        if not isinstance(lane, int | Term):
            raise Refutation(Category.FUNCTION, f"{what} is no value of 128 bits")
        return lane

    def form(self, lane: Lane, what: str) -> Form:
        """Return the polynomials of a value.

        Raises:
            Refutation: it has none.
        """
        try:
            return self.terms.form(lane)
        except NotPolynomialError as error:
            raise Refutation(Category.FUNCTION, f"{what}: {error}", at=error.at) from None

    def compare(self, lane: Lane, wanted: Form, what: str) -> None:
        """Compare a value with its definition.

        Raises:
            Refutation: they differ.
        """
        got = self.form(lane, what)
        if got != wanted:
            raise self.wrong(lane, got, wanted, what)

    def wrong(self, lane: Lane, got: Form, wanted: Form, what: str) -> Refutation:
        """Return the refutation that a value is not its definition."""
        difference = Difference(self, lane, got, wanted)
        return Refutation(Category.FUNCTION, f"{what} is wrong", difference=difference)


class Question(Protocol):
    """The one question about a secret whose answer the function gives away."""

    def may_be_known(self, state: State, value: Term) -> bool:
        """Return whether the answer says whether a value is 0, and no more."""

    def answered(self, state: State, zero: bool) -> None:
        """Note the answer in the ghosts."""


class Output(Protocol):
    """A buffer that is written piece by piece, and how far it is as it should be."""

    def done(self, ghosts: Mapping[str, object]) -> Number:
        """Return up to where it is."""

    def folded(self, state: State, to: Mapping[str, object], where: str) -> set[int]:
        """Check what is written up to where an assertion says, and return it."""


def _is_entry(kind: str, power: int) -> bool:
    base, slash, step = kind.partition("/")
    stepped = base == "R" and re.fullmatch("[1-9][0-9]*", step) is not None
    return power >= 1 and base in (*KINDS, "subkey") and (stepped or not slash)


def _none(index: int) -> Lane | None:
    return None
