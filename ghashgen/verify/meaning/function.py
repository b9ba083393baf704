"""One function's specification, put together of parts.

parameters   numbers and buffers, and what the buffers hold on entry
parts        what is followed through the run: what is hashed, the counter, the text
finish       what is left at the return
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.ops.forms import Form
from ghashgen.verify.core.linear import Case
from ghashgen.verify.core.numbers import Number, combined, times
from ghashgen.verify.core.refutation import Category, Difference, Refutation, unsupported
from ghashgen.verify.core.term import Lane, NotPolynomialError, Term
from ghashgen.verify.core.terms import Terms
from ghashgen.verify.core.values import Linear, Pointer, Value
from ghashgen.verify.core.words import M32
from ghashgen.verify.machine.regions import Region
from ghashgen.verify.meaning.algebra import Sum
from ghashgen.verify.meaning.answer import Answer
from ghashgen.verify.meaning.buffers import NUMBER_BYTES, Buffer, End, Left, turned
from ghashgen.verify.meaning.cipher import encrypted
from ghashgen.verify.meaning.counters import Counters
from ghashgen.verify.meaning.hashing import Blocks, partials
from ghashgen.verify.meaning.names import Names
from ghashgen.verify.meaning.text import DONE, Text
from ghashgen.verify.rules.entry import Call
from ghashgen.verify.rules.state import Arrival, Ranges, State


class Part(Protocol):
    """Something that a specification follows through a run, by ghosts of its own."""

    name: str

    def begin(self) -> dict[str, Any]:
        """Return its ghosts at the entry."""

    def ghosts(self, data: object, unknowns: Mapping[str, object]) -> dict[str, Any]:
        """Return its ghosts as an assertion states them.

        Raises:
            Refutation: they are of another form.
        """

    def instance(self, arrival: Arrival) -> None:
        """Check that a state has the ghosts of an assertion.

        Raises:
            Refutation: it has not.
        """


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
    """The buffers by their parameters; what is no parameter does not count."""
    numbers: Mapping[str, tuple[int, int]]
    parts: Sequence[Part]
    blocks: tuple[Blocks, ...]
    """The blocks that are read, of which the last may be partial."""
    finish: Callable[[State], End]
    """Says what is left at the return."""
    result_bits: int = 0
    vectors_named: bool = False
    multiple: int = 1
    """A length is so many times its number in bytes, and is passed in units of `unit` bytes."""
    unit: int = 1
    terms_named: Mapping[str, Callable[[], Lane]] = field(default_factory=dict)
    """What else an assertion may name."""
    held: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    """Numbers that are no parameters: the buffer that holds them, and where."""
    promised: tuple[Case, ...] = (Case(),)
    refused: Callable[[State], int | None] = lambda state: None
    """Returns the status of a call that writes nothing, None for any other."""

    def __post_init__(self) -> None:
        self.terms: Terms = self.names.terms
        self.buffers = {n: self.buffers[n] for n in self.parameters if n in self.buffers}
        self.text = next((part for part in self.parts if isinstance(part, Text)), None)
        self.answer = next((part for part in self.parts if isinstance(part, Answer)), None)
        self.counters = next((part for part in self.parts if isinstance(part, Counters)), None)

    @property
    def outputs(self) -> dict[str, Text]:
        """The buffer whose bytes each get one value, if there is one."""
        return {} if self.text is None else {self.text.out: self.text}

    # How it is called.

    def call(self, numbers: Mapping[str, Number], align: tuple[int, int]) -> Call:
        """Return how it is called where its numbers are these."""
        lengths = {name: times(n, self.multiple) for name, n in numbers.items()}
        regions, arguments = [], list[Value]()
        for name in self.parameters:
            if name in numbers:
                arguments.append(times(numbers[name], self.multiple // self.unit))
                continue
            b = self.buffers[name]
            low = numbers[b.begins] if b.begins else 0
            arguments.append(Pointer(name, low))
            end = combined(low, lengths[b.size] if isinstance(b.size, str) else b.size)
            regions.append(Region(name, low, end, b.access, b.content, b.align, over=b.over))
        held = tuple((*place, numbers[name]) for name, place in self.held.items())
        return Call(self.abi, tuple(arguments), tuple(regions), align, held)

    def arrivals(self, state: State, ranges: Ranges) -> Iterator[State]:
        """Yield what a state that comes to a cut may be an instance as."""
        yield state

    # Ghosts.

    def begin(self) -> dict[str, Any]:
        """Return the ghosts at the entry."""
        return {key: ghost for part in self.parts for key, ghost in part.begin().items()}

    def ghosts(self, data: Mapping[str, Any], unknowns: Mapping[str, Any]) -> dict[str, Any]:
        """Return the ghosts that an assertion states, of every part."""
        names = [part.name for part in self.parts]
        if sorted(names) != sorted(data):
            raise unsupported(f"ghosts {', '.join(data)} where there are {', '.join(names)}")
        found = (part.ghosts(data[part.name], unknowns) for part in self.parts)
        return {key: ghost for one in found for key, ghost in one.items()}

    def instance(self, arrival: Arrival) -> None:
        """Check that a state's ghosts are what an assertion says."""
        for part in self.parts:
            part.instance(arrival)

    def entering(self, state: State) -> None:
        """Make the terms ready for a run of this state."""
        found = (partials(blocks, state.memory) for blocks in self.blocks)
        self.names.enter(state, frozenset(one for some in found for one in some))
        if self.text is not None:
            regions, out = state.memory.regions, self.text.out
            regions[out] = replace(regions[out], done=state.ghosts[DONE])

    def settled(self, arrival: Arrival, region: str) -> set[int]:
        """Return the written bytes of a buffer that an assertion may leave out: they are right.

        Raises:
            Refutation: they are not.
        """
        if self.text is None or region != self.text.out:
            return set()
        return self.text.folded(arrival)

    def may_be_known(self, state: State, value: Term) -> bool:
        """Return whether everybody may know that a secret value is 0."""
        return self.answer is not None and self.answer.may_be_known(state, value)

    def answered(self, state: State, value: Term, zero: bool) -> None:
        """Note whether that value is 0."""
        assert self.answer is not None
        self.answer.answered(state, zero)

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
            case ["entry", str(kind), int(power)] if self.names.algebra.defines(kind, power):
                return self.terms.entry(kind, power)
            case ["block", str(letter), int() | Linear() as at]:
                if letter in {one.letter for one in self.blocks}:
                    return self.terms.variable(f"{letter}{at}")
            case ["counter", int() | Linear() as at] if self.counters is not None:
                return self.counters.block(at)
            case ["keystream", int() as at] if self.counters is not None:
                block, keys = self.counters.block(at), self.counters.keys
                # It has no value that a state may have another name for.
                return self.names.always(
                    ("keystream", block), lambda: encrypted(self.terms, block, keys)
                )
            case [str(name)] if name in self.terms_named:
                return self.terms_named[name]()
        raise unsupported(f"no term: {data!r}")

    # What is left.

    def end(self, state: State) -> None:
        """Compare what is left at the return.

        Raises:
            Refutation: it is something else.
        """
        end, named = self.finish(state), set[int]()
        if end.status is not None and not self.has_status(state, end.status):
            raise Refutation(Category.FUNCTION, f"the status is wrong, not {end.status}")
        if self.text is not None and not end.untouched:
            self.text.check_end(state)
        for one in end.left:
            self._check(state, one)
            size = NUMBER_BYTES if isinstance(one.wanted, int | Linear) else BLOCK_BYTES
            named |= {*range(one.at, one.at + size)} if one.buffer == end.only else set()
        for name in self.buffers if end.untouched else (end.only,) if end.only else ():
            before = {
                at + k: (state.ghosts[number], k)
                for number, (buffer, at) in self.held.items()
                for k in range(NUMBER_BYTES)
                if buffer == name
            }
            written = state.memory.written[name].items()
            begun = self.text is not None and name == self.text.out and self.text.begun(state)
            if begun or any(k not in named and before.get(k) != cell for k, cell in written):
                raise Refutation(Category.FUNCTION, "something is written, where all is to stay")

    def has_status(self, state: State, status: int) -> bool:
        """Return whether the status that is left is this one."""
        returned = state.machine.gpr[state.machine.target.result]
        return isinstance(returned, int) and returned & M32 == status

    def _check(self, state: State, one: Left) -> None:
        place, wanted, what = Pointer(one.buffer, one.at), one.wanted, one.what
        if isinstance(wanted, int | Linear):
            found = state.memory.load(place, NUMBER_BYTES)
            off = combined(found, wanted, -1) if isinstance(found, int | Linear) else 1
            if state.facts.equals(off, 0) is not True:
                raise Refutation(Category.FUNCTION, f"{what} is wrong")
            return
        try:
            lane = state.memory.load(place, BLOCK_BYTES)
            if not isinstance(lane, int | Term):
                raise Refutation(Category.FUNCTION, f"{what} is no value of 128 bits")
            self._compare(turned(self.terms, lane, one.reverses), wanted, one)
        except Refutation:
            written = state.memory.written[one.buffer]
            if any(one.at + k not in written for k in range(BLOCK_BYTES)):
                raise Refutation(Category.FUNCTION, f"{what} is not written") from None
            raise

    def _compare(self, lane: Lane, wanted: Form | Sum, one: Left) -> None:
        algebra = self.names.algebra
        if isinstance(wanted, Form):
            if (got := self._form(lane, one.what)) == wanted:
                return
        else:
            lane = self.names.named(self.terms.moves(lane, algebra.register))
            got = self._form(lane, one.what) ^ one.plus().moves(algebra.register, 128)
            if (found := self.names.sum_of(got)) == wanted:
                return
            # As a sum it says more than as a polynomial, in which sums may have names.
            got = got if found is None else algebra.state(found)
            wanted = algebra.state(wanted)
        difference = Difference(self, lane, got, wanted)
        raise Refutation(Category.FUNCTION, f"{one.what} is wrong", difference=difference)

    def _form(self, lane: Lane, what: str) -> Form:
        try:
            return self.terms.form(lane)
        except NotPolynomialError as error:
            raise Refutation(Category.FUNCTION, f"{what}: {error}", at=error.at) from None
