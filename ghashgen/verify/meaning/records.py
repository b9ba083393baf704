"""Many messages in one call: an array of records, and the message of one of them at a time.

Record i is at 80·i of `messages`. Its words are the addresses and lengths of a message, each of
which is a buffer of its own, and the status. The numbers of a state say how many records there
are, at which one it stands (`record`), and that record's lengths. The records before are done:
nothing is known of their buffers, and nothing points there. At a cut a state may `turn` to the next
record (docs/gcm-many.md).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from ghashgen.verify.core.linear import Fork, compared
from ghashgen.verify.core.numbers import Number, combined, times, unknown
from ghashgen.verify.core.refutation import Category, Refutation, unsupported
from ghashgen.verify.core.term import CALLER, Term, of_table, secret
from ghashgen.verify.core.values import Pointer, Value
from ghashgen.verify.machine.flags import Open, Why, alike
from ghashgen.verify.machine.memory import STACK
from ghashgen.verify.machine.regions import Access, Region
from ghashgen.verify.meaning.buffers import NUMBER_BYTES
from ghashgen.verify.meaning.function import Function
from ghashgen.verify.rules.entry import Call
from ghashgen.verify.rules.state import State

MESSAGES, COUNT, RECORD = "messages", "count", "record"

WORDS = (
    *("iv", "aad", "input", "output", "tag"),
    *("length", "aad_length", "iv_length", "tag_length", "status"),
)
"""The words of a record, by the parameters of the function that takes the message alone."""

RECORD_BYTES = NUMBER_BYTES * len(WORDS)
STATUS = RECORD_BYTES - NUMBER_BYTES

MOST_RECORDS = (1 << 57) - 1
"""More do not fit into the address space."""

OF_ANOTHER = "of a message before"


@dataclass
class Records(Function):
    """A function of many messages; its parameters here are those of the function of one."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.lengths = {n: r for n, r in self.numbers.items() if n not in (COUNT, RECORD)}

    def at(self, numbers: Mapping[str, Any]) -> Number:
        """Return where in the array the record is."""
        return times(numbers[RECORD], RECORD_BYTES)

    def words(self, numbers: Mapping[str, Any]) -> Iterator[tuple[int, Value]]:
        """Yield the words of the record, where they are in it, but for the status."""
        for index, word in enumerate(WORDS[:-1]):
            if word in self.buffers or word in self.lengths:
                value = numbers[word] if word in self.lengths else Pointer(word, 0)
                yield NUMBER_BYTES * index, value

    def _regions(self, numbers: Mapping[str, Any], align: tuple[int, int]) -> tuple[Region, ...]:
        size = times(numbers[COUNT], RECORD_BYTES)
        records = Region(MESSAGES, 0, size, Access.UPDATE, lambda memory, at: None)
        return *super().call(numbers, align).regions, records

    def call(self, numbers: Mapping[str, Number], align: tuple[int, int]) -> Call:
        """Return how it is called: with the array, at whose first record it stands."""
        arguments = Pointer("table", 0), Pointer(MESSAGES, 0), numbers[COUNT]
        held = tuple((MESSAGES, at, value) for at, value in self.words(numbers))
        return Call(self.abi, arguments, self._regions(numbers, align), align, held)

    def arrivals(self, state: State) -> Iterator[State]:
        """Yield a state as it is; then, if the record is done, turned to the next."""
        yield state
        later = self.turned(state)
        self.entering(later)
        yield later

    def turned(self, state: State) -> State:
        """Return a state whose record is done as one at the record behind.

        What it knew of the message is forgotten, for the next one's values have the same names.

        Raises:
            Fork: whether it is done depends on the unknowns.
            Refutation: it is not.
        """
        super().end(state)
        self._require_words(state, {STATUS})
        later, first = state.copy(), self.at(state.ghosts)
        memory, facts = later.memory, state.facts
        behind = combined(state.ghosts[RECORD], 1)
        if not facts.shows(combined(state.ghosts[COUNT], behind, -1)):
            raise unsupported(f"no record at {first}")
        numbers: dict[str, Number] = {COUNT: state.ghosts[COUNT], RECORD: behind}
        for name, (low, high) in self.lengths.items():
            fresh = f"{name}_0"  # No case brings such a name.
            if fresh in facts.ranges:
                raise unsupported("two records without a cut between them")
            facts = facts.with_range(fresh, low, high)
            numbers[name] = unknown(fresh)
        memory.facts = facts
        later.ghosts = self.begin() | numbers
        for region in self._regions(numbers, (1, 0)):
            memory.regions[region.name] = region
            if region.name != "table":
                memory.written[region.name] = {}
        self._forget(later)
        for at, value in self.words(numbers):
            memory.put(MESSAGES, memory.key(combined(self.at(numbers), at)), value, NUMBER_BYTES)
        return later

    def _forget(self, state: State) -> None:
        """Let no value be of the message before."""
        m, known = state.machine, dict[int, Value]()

        def kept(value: Any, bits: int) -> Any:
            if isinstance(value, Pointer):
                ours = value.region not in self.buffers or value.region == "table"
                return value if ours else m.terms.lost(OF_ANOTHER, False, bits)
            if not isinstance(value, Term) or value.deps == CALLER or of_table(value):
                return value
            return m.terms.lost(OF_ANOTHER, secret(value), bits)

        for k, general in enumerate(m.gpr):
            m.gpr[k] = kept(general, 64)
        for k, mask in enumerate(m.mask):
            m.mask[k] = kept(mask, 64)
        for k, lanes in enumerate(m.vec):
            m.vec[k] = tuple(kept(lane, 128) for lane in lanes)
        cells = state.memory.written[STACK]
        returns = {p.offset for p, _ in state.memory.returns}
        for at, (value, k) in cells.items():
            if not any(0 <= at - slot < NUMBER_BYTES for slot in returns):  # type: ignore[operator]
                cells[at] = known.setdefault(id(value), kept(value, 128)), k
        m.flags = alike(Open(Why.UNDEFINED, m.flags.secret))

    def end(self, state: State) -> None:
        """Compare what is left at the return: every record is done.

        Raises:
            Fork: whether there is another record depends on the unknowns.
            Refutation: something else is left.
        """
        left = combined(state.ghosts[COUNT], state.ghosts[RECORD], -1)
        more = state.facts.below(left, 1)
        if more is None:
            raise Fork("another record", compared(combined(left, 1, -1)))
        if not more:
            state = self.turned(state)
            self.entering(state)
            left = combined(left, 1, -1)
        if state.facts.equals(left, 0) is not True:
            raise Refutation(Category.FUNCTION, "not every message is done")
        self._require_words(state, set())
        if any(state.memory.written[n] for n in self.buffers):
            raise Refutation(Category.FUNCTION, "something is written behind the last message")

    def _require_words(self, state: State, written: set[int]) -> None:
        """Refuse an array of which anything but some words of the record is written."""
        memory, first = state.memory, self.at(state.ghosts)
        cells = dict(memory.written[MESSAGES])
        for at, wanted in (*self.words(state.ghosts), *((at, None) for at in written)):
            key = memory.key(combined(first, at))
            found = [cells.pop(key + k, None) for k in range(NUMBER_BYTES)]
            value = found[0][0] if found[0] else None
            same = all(one is not None and one[0] is value and one[1] == k
                       for k, one in enumerate(found))  # fmt: skip
            if not same or (wanted is not None and value != wanted):
                raise Refutation(Category.FUNCTION, f"word {at} of a record is wrong")
        if cells:
            raise Refutation(Category.FUNCTION, "another word of the records is written")

    def has_status(self, state: State, status: int) -> bool:
        """Return whether the record has this status."""
        place = Pointer(MESSAGES, combined(self.at(state.ghosts), STATUS))
        key = state.memory.key(place.offset)
        cells = [state.memory.written[MESSAGES].get(key + k) for k in range(NUMBER_BYTES)]
        return all(one == (status, k) for k, one in enumerate(cells))


def records_of(one: Function) -> Records:
    """Return the function of many messages, given what one of them means."""
    values = {f.name: getattr(one, f.name) for f in fields(Function) if f.init}
    numbers = {**one.numbers, COUNT: (0, MOST_RECORDS), RECORD: (0, 0)}
    return Records(**values | {"numbers": numbers, "result_bits": 0})
