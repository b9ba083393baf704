"""Many messages in one call: an array of records, and the message of one of them at a time.

Record i is at 80·i of `messages`. Its words are the addresses and lengths of a message, each of
which is a buffer of its own, and the status. A state stands at a window: the records before it are
done, those behind it are as they were. It follows one record of the window (`record`, the one at
`place`), whose names are those of a single message. Whatever is read of another message of the
window may be anything, and what is written there is forgotten: the run that follows that message
checks it. No other record may be touched. At a cut a state may `turn` to another window, of which
it follows any record (docs/gcm-many-proof.md).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from ghashgen.verify.core.linear import Fork, compared
from ghashgen.verify.core.numbers import Number, combined, times, unknown
from ghashgen.verify.core.refutation import Category, Refutation, unsupported
from ghashgen.verify.core.term import CALLER, Term, of_table, secret
from ghashgen.verify.core.values import Pointer, Value
from ghashgen.verify.machine.flags import Open, Why, alike
from ghashgen.verify.machine.image import SECTION
from ghashgen.verify.machine.memory import STACK, Memory, is_return_address
from ghashgen.verify.machine.regions import Access, Region
from ghashgen.verify.meaning.buffers import NUMBER_BYTES
from ghashgen.verify.meaning.function import Function
from ghashgen.verify.meaning.questions import Questions, on_stack, pointers_to
from ghashgen.verify.meaning.text import ANSWER, DONE
from ghashgen.verify.rules.entry import Call
from ghashgen.verify.rules.state import Arrival, Ranges, State

MESSAGES, COUNT, RECORD = "messages", "count", "record"

PLACE, WINDOW = "place", "window"
"""Where in its window the record is, and of how many records the window is."""

WINDOWS = (8, 4, 1)
"""Of how many records a window is."""

LARGEST, STEP = WINDOWS[:2]
"""The window that may also slide, by so many records."""

OTHER_WORDS = "words of other records"
"""A buffer that nothing points to: the words of the window's other records that have been read."""

WORDS = (
    *("iv", "aad", "input", "output", "tag"),
    *("length", "aad_length", "iv_length", "tag_length", "status"),
)
"""The words of a record, by the parameters of the function that takes the message alone."""

RECORD_BYTES = NUMBER_BYTES * len(WORDS)
STATUS = RECORD_BYTES - NUMBER_BYTES

MOST_RECORDS = (1 << 57) - 1
"""More do not fit into the address space."""

OF_ANOTHER = "of another message"


def _nothing(memory: Memory, at: Number) -> None:
    """Return that nothing is known of what is there at first."""


@dataclass
class Records(Function):
    """A function of many messages; its parameters here are those of the function of one."""

    def __post_init__(self) -> None:
        super().__post_init__()
        own = (COUNT, RECORD, PLACE, WINDOW)
        self.lengths = {n: r for n, r in self.numbers.items() if n not in own}
        self.questions = Questions()

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
        records = Region(MESSAGES, 0, size, Access.UPDATE, _nothing, other=self.other)
        words = Region(OTHER_WORDS, 0, size, Access.READ, _nothing)
        table, *own = super().call(numbers, align).regions
        return table, *(replace(one, promised=self.promise) for one in own), records, words

    def call(self, numbers: Mapping[str, Number], align: tuple[int, int]) -> Call:
        """Return how it is called: with the array, at whose first record it stands."""
        arguments = Pointer("table", 0), Pointer(MESSAGES, 0), numbers[COUNT]
        held = tuple((MESSAGES, at, value) for at, value in self.words(numbers))
        return Call(self.abi, arguments, self._regions(numbers, align), align, held)

    def promise(self) -> None:
        """Refuse to take pointers for buffers if the message is refused: they may be anything.

        Raises:
            Fork: whether it is refused depends on the unknowns.
            Refutation: it is.
        """
        if self.refused(self.names.state) is not None:
            raise Refutation(Category.MEMORY, "a buffer of a refused message", at=self.terms.at)

    def other(self, memory: Memory, at: Number, size: int, store: bool) -> Value | None:
        """Return what a word of another record of the window is; None: it is of this record.

        Raises:
            Fork: whose it is depends on the place in the window.
            Refutation: it is of no record of the window, or no word that may be used so.
        """
        ghosts = self.names.state.ghosts
        distance, place = combined(at, self.at(ghosts), -1), ghosts[PLACE]
        ahead, word = divmod(memory.facts.known(distance, self.terms.at), RECORD_BYTES)
        if word + size > RECORD_BYTES:
            raise Refutation(Category.MEMORY, "two records at once", at=self.terms.at)
        if not ahead:
            return None
        index = memory.facts.known(place, self.terms.at) + ahead
        if index < 0 or not memory.facts.shows(combined(ghosts[WINDOW], index + 1, -1)):
            raise Refutation(Category.MEMORY, "a record that is not its turn", at=self.terms.at)
        if store:
            if word < STATUS:
                raise Refutation(Category.MEMORY, "a word is written", at=self.terms.at)
            return 0
        name = WORDS[word // NUMBER_BYTES]
        if size != NUMBER_BYTES or word % size or name not in {*self.buffers, *self.lengths}:
            raise unsupported("no word of another record", self.terms.at)
        # No case brings a name that ends so: a block of this message has the name of its place.
        known, key, new = memory.written[OTHER_WORDS], memory.key(at), f"{name}_{index}_of"
        if key not in known and name in self.lengths:
            if new in memory.facts.ranges:  # Before a slide, of the record that was there.
                raise unsupported("two other records of one place without a cut between them")
            memory.facts = memory.facts.with_range(new, *self.lengths[name])
            known[key] = unknown(new), 0
        elif key not in known:
            memory.regions[new] = Region(new, 0, 0, Access.ANOTHER, _nothing, other=self.lost)
            known[key] = Pointer(new, 0), 0
        return known[key][0]

    def lost(self, memory: Memory, at: Number, size: int, store: bool) -> Value:
        """Return what stands in a buffer of another message: any secret."""
        return self.terms.lost(OF_ANOTHER, True, 8 * size)

    def may_be_known(self, state: State, value: Term) -> bool:
        """Return whether everybody may know that a secret value is 0.

        That is whether the tag of its message is right, or the run of another message answers.

        Raises:
            Refutation: no run may answer.
        """
        own, ghosts, facts = super().may_be_known(state, value), state.ghosts, state.facts
        begin = combined(ghosts[RECORD], ghosts[PLACE], -1)
        ends = ghosts[WINDOW], combined(ghosts[COUNT], begin, -1)
        others = [
            combined(begin, k)
            for k in range(LARGEST)
            if facts.equals(ghosts[PLACE], k) is False
            and all(facts.shows(combined(end, k + 1, -1)) for end in ends)
        ]
        held = [*enumerate(state.machine.gpr), *on_stack(state.memory)]
        about = [
            pointers_to(MESSAGES, held, times(record, RECORD_BYTES))
            for record in ([ghosts[RECORD]] if own else others)
        ]
        self.questions.ask(self.terms.at, not own, set().union(*about))
        return True

    def answered(self, state: State, value: Term, zero: bool) -> None:
        """Note whether that value is 0, if that is the answer for this message."""
        if super().may_be_known(state, value):
            super().answered(state, value, zero)

    def settled(self, arrival: Arrival, region: str) -> set[int]:
        """Return what an assertion may leave out: also what other records are."""
        if region == OTHER_WORDS:
            return {*arrival.state.memory.written[OTHER_WORDS]}
        return super().settled(arrival, region)

    def arrivals(self, state: State, ranges: Ranges) -> Iterator[State]:
        """Yield a state as it is; then turned to another window, before or behind its records.

        Between two of the largest windows it slides: what is known of a message that stays is kept.
        """
        yield state
        asked = [one.get(WINDOW) for one in ranges]
        if state.ghosts[WINDOW] == LARGEST and (LARGEST, LARGEST) in asked:
            yield self._slid(state)
            return
        first = self._first_left(state)
        for window in WINDOWS:
            if (window, window) in asked:
                later = self.turned(state, first, window)
                self.entering(later)
                yield later

    def _slid(self, state: State) -> State:
        """Return a state as one at the window that begins behind the first records of this one.

        It follows the same message if that stays. If that is one of the first, and done, it follows
        any of those that come.

        Raises:
            Fork: where its message is, or whether that is done, depends on the unknowns.
            Refutation: its message is one of the first, and not done.
        """
        place = state.facts.known(state.ghosts[PLACE], self.terms.at)
        if place >= STEP:
            later = state.copy()
            later.ghosts[PLACE] = place - STEP
            self._forget(later, own=True)
        else:
            self._require_done(state)
            first = combined(state.ghosts[RECORD], STEP - place)
            later = self.turned(state, first, LARGEST, LARGEST - STEP)
        self.entering(later)
        return later

    def _require_done(self, state: State) -> None:
        super().end(state)
        self._require_words(state, {STATUS})

    def _first_left(self, state: State) -> Number:
        """Return the first record that is not done: all of the window are, or none is touched.

        Raises:
            Fork: whether its record is done depends on the unknowns.
            Refutation: it is touched, and not done.
        """
        memory, ghosts = state.memory, state.ghosts
        first = combined(ghosts[RECORD], ghosts[PLACE], -1)
        buffers = any(memory.written[name] for name in self.buffers)
        words = len(memory.written[MESSAGES]) > NUMBER_BYTES * len([*self.words(ghosts)])
        if not buffers and not words and ANSWER not in ghosts and ghosts[DONE] == 0:
            self._require_words(state, set())
            return first
        self._require_done(state)
        return combined(first, ghosts[WINDOW])

    def turned(self, state: State, first: Number, window: int, least: int = 0) -> State:
        """Return a state as one at the window that begins at a record, of any record there.

        What it knew of the message is forgotten, for the next one's values have the same names.
        `least`: of any record from this place on, if the window slid so that these are new.
        """
        later = state.copy()
        memory, facts = later.memory, state.facts
        if not facts.shows(combined(state.ghosts[COUNT], first, -1)):
            raise unsupported(f"no record before {first}")
        if any(f"{name}_0" in facts.ranges for name in (*self.lengths, PLACE)):
            raise unsupported("two records without a cut between them")
        numbers: dict[str, Number] = {COUNT: state.ghosts[COUNT], WINDOW: window, PLACE: 0}
        # No case brings such names.
        for name, (low, high) in self.lengths.items():
            facts = facts.with_range(f"{name}_0", low, high)
            numbers[name] = unknown(f"{name}_0")
        if window > 1:
            facts = facts.with_range(f"{PLACE}_0", least, window - 1)
            numbers[PLACE] = unknown(f"{PLACE}_0")
        numbers[RECORD] = combined(first, numbers[PLACE])
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

    def _forget(self, state: State, own: bool = False) -> None:
        """Let no value be of the message before; `own`: of others, for that message stays."""
        m = state.machine

        def kept(value: Any, bits: int) -> Any:
            if isinstance(value, Pointer):
                ours = {"table", MESSAGES, STACK, *(self.buffers if own else ())}
                if value.region in ours or value.region.startswith(SECTION):
                    return value
                return m.terms.lost(OF_ANOTHER, False, bits)
            is_kept = own or not isinstance(value, Term) or is_return_address(value)
            if is_kept or value.deps == CALLER or of_table(value):
                return value
            return m.terms.lost(OF_ANOTHER, secret(value), bits)

        m.exchange(kept)
        m.flags = alike(Open(Why.UNDEFINED, m.flags.secret))

    def end(self, state: State) -> None:
        """Compare what is left at the return: every record is done.

        Raises:
            Fork: whether there is another record depends on the unknowns.
            Refutation: something else is left.
        """
        left = combined(state.ghosts[COUNT], self._first_left(state), -1)
        done = state.facts.equals(left, 0)
        if done is None:
            raise Fork("another record", compared(combined(left, 1, -1)))
        if not done:
            raise Refutation(Category.FUNCTION, "not every message is done")

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
    own = {COUNT: (0, MOST_RECORDS), RECORD: (0, 0), PLACE: (0, 0), WINDOW: (1, 1)}
    numbers = {**one.numbers, **own}
    return Records(**values | {"numbers": numbers, "result_bits": 0})
