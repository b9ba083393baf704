"""Assertions of messages in groups of four alike, of one row of 64 bytes or less.

    next      before any record: four records are asked whether they are alike
    group     before a group: its messages are alike, so what is known of one is known of each
    hash      where the texts of a group are written and nothing is hashed, for each place in it
    judge     before the tags of a group are compared, in `open_many`, for each place in it
    checks    behind a group: what is in registers depends on the context and on lengths alone
    one       before a message that is processed by itself

There is a group, and checks, for each number of blocks: the powers of H in registers depend on it.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.verify.core.linear import Case, Fork
from ghashgen.verify.core.refutation import unsupported
from ghashgen.verify.core.term import DATA, RAW, Term
from ghashgen.verify.machine.flags import SecretCondition
from ghashgen.verify.machine.machine import END
from ghashgen.verify.meaning.hashing import Hashing
from ghashgen.verify.meaning.initial import Initial
from ghashgen.verify.meaning.letters import GIVEN
from ghashgen.verify.meaning.records import COUNT, PLACE, RECORD
from ghashgen.verify.meaning.tag import TAG_LENGTH
from ghashgen.verify.rules.assertion import registers
from ghashgen.verify.rules.state import State
from ghashgen.verify.search.graph import reached
from ghashgen.verify.search.held import is_mask
from ghashgen.verify.search.message import Search
from ghashgen.verify.search.variables import Variables

NEXT, ONE, GROUP, HASH, JUDGE, CHECKS = "next", "one", "group", "hash", "judge", "checks"

ABOVE = {CHECKS: 1, NEXT: 0, GROUP: -1, HASH: -2, JUDGE: -3, ONE: -1}
"""What falls from cut to cut, beside the messages that are left."""

SIZE, MOST_BLOCKS = 4, 4
"""Messages of a group, and blocks of the longest one."""

MANY_WAYS = 8
"""So many ways lead to where a message is processed by itself, at least."""

SAME = {"length": "length", "aad_length": "aad_length"}
BEHIND = {"length": "text", "aad_length": "more"}
"""The lengths that are alike, and their names in a group and behind it."""

LIKE = {"aad_length": 5}
"""A message that is followed, beside its text."""


def alone(search: Search) -> int:
    """Return where a message is processed by itself, if others are in groups; 0 if none are."""
    ways = Counter(to for after in search.after.values() for to in after)
    many = [at for at, count in ways.items() if count >= MANY_WAYS]
    # From there all of a message follows, and of such places in it, only some.
    at = max(many, key=lambda at: len(reached(search.after, at)), default=0)
    return at if at and search.heads - reached(search.after, at) else 0


@dataclass
class Groups:
    """The assertions of one function, of which `next` has been found."""

    search: Any
    one: int
    """Where a message is processed by itself."""

    def __post_init__(self) -> None:
        after = self.search.after
        heads = self.search.heads - reached(after, self.one)
        loops = {head: max(at for at, ways in after.items() if head in ways) for head in heads}
        inner = {head for head in heads for o, last in loops.items() if o < head <= last}
        self.heads = heads - inner
        self.inside = {at for at in after for o, last in loops.items() if o <= at <= last}
        self.assertions: dict[str, Any] = self.search.data["assertions"]
        self.same = {n: n for n in self.search.meaning.numbers}

    def add(self) -> None:
        """Add them."""
        for blocks in range(1, MOST_BLOCKS + 1):
            self.group(blocks)
        (few,) = self.search.source(NEXT)[0].each((_case({PLACE: 0, COUNT: 1, RECORD: 0}),))
        _, state = self.follow(few, self.search.source(NEXT)[1], {self.one}, END)
        self.assertions[ONE] = self.search.begins(state, self.one, window=1) | {
            "facts": [f"{COUNT}-{RECORD}-1"], "from": {NEXT: [self.search.way(0, 1)]},
        }  # fmt: skip

    def group(self, blocks: int) -> None:
        """Add the assertions of groups of messages of so many blocks."""
        search, letter = self.search, "abcd"[blocks - 1]
        name, checks = f"{GROUP}{letter}", f"{CHECKS}{letter}"
        lengths = [BLOCK_BYTES * (blocks - 1) + 1, BLOCK_BYTES * blocks]
        known = LIKE | {"length": lengths[1] - 1}
        at, state = self.follow(*self.from_(NEXT, known | {PLACE: 0}), self.inside)
        one = self.assertions[name] = search.begins(state, at, alike=SAME)
        one["unknowns"] |= {"length": lengths, "aad_length": [1, 16], "iv_length": [12, 12]}
        if TAG_LENGTH in one["unknowns"]:
            one["unknowns"][TAG_LENGTH] = [16, 16]
        one["facts"] = [f"{COUNT}-{RECORD}+{PLACE}-{SIZE}", f"{RECORD}-{PLACE}"]
        one["from"] = {NEXT: [self.same], checks: [self.same]}
        sources = self.hashes(name, known)
        if search.answers:
            sources = self.judges(sources, known)
        at, state = self.follow(*self.from_(sources[0], known), self.heads)
        behind = self.assertions[checks] = search.begins(state, at, SIZE, BEHIND)
        behind["unknowns"] |= {"text": lengths, "more": [1, 16]}
        way = search.way(SIZE, SIZE) | {new: old for old, new in BEHIND.items()}
        behind["from"] = {source: [way] for source in sources}
        self.assertions[NEXT]["from"][checks] = [search.way(0, SIZE)]

    def hashes(self, group: str, known: dict[str, int]) -> list[str]:
        """Add assertions where the texts of a group are written; return their names."""
        found = list[tuple[State, int]]()
        for index in range(SIZE):
            for state, at in self.walk(*self.from_(group, known | {PLACE: index})):
                if self.is_written(state, at):
                    found.append((state, at))
                    break
            else:
                raise unsupported("search: no place in a group where its texts are written")
        to = max(at for _, at in found)
        return [
            self.placed(HASH, group, *(one if one[1] == to else self.follow(*one, {to})[::-1]),
                        {"mask": True})
            for one in found
        ]  # fmt: skip

    def is_written(self, state: State, at: int) -> bool:
        """Return whether the text is written, and all that is in vector registers has a name."""
        text = self.search.meaning.text
        if len(state.memory.written[text.out]) != state.ghosts["length"]:
            return False
        places = self.says(state, at)["places"]
        return not any(v == "?" for place, v in places.items() if "+" not in place)

    def judges(self, before: list[str], known: dict[str, int]) -> list[str]:
        """Add assertions before the tags of a group are compared; return their names."""
        at, names = self.compared(*self.from_(before[0], known)), list[str]()
        ghosts: dict[str, Any] = {"x": None, "mask": False, "answer": {"tag": "tag"}}
        for name in before:
            _, state = self.follow(*self.from_(name, known), {at})
            names.append(self.placed(JUDGE, name, state, at, ghosts))
        return names

    def placed(self, kind: str, before: str, state: State, at: int, ghosts: dict[str, Any]) -> str:
        """Add an assertion where a state comes, which follows a known place; return its name."""
        earlier, index = self.assertions[before], state.ghosts[PLACE]
        name = f"{kind}{before.removeprefix(GROUP).removeprefix(HASH)[0]}{'abcd'[index]}"
        one = self.assertions[name] = self.says(state, at)
        one["unknowns"] |= {n: earlier["unknowns"][n] for n in self.search.meaning.lengths}
        one["unknowns"][PLACE] = [index, index]
        one["ghosts"] |= {"iv": None, "output": "length"} | ghosts
        one |= {"facts": earlier["facts"], "from": {before: [self.same]}}
        return name

    def says(self, state: State, at: int) -> dict[str, Any]:
        """Return an assertion with names for what is in vector registers."""
        one: dict[str, Any] = self.search.begins(state, at, alike=SAME)
        for name, place in registers(self.search.checker.target).items():
            if place.file == "vec" and one["places"].get(name) == "?":
                one["places"][name] = self.said(state, place.of(state.machine))
        return one

    def said(self, state: State, value: Any) -> Any:
        """Return a value that depends on messages: a block, E_K(J_0), a tag, or another's."""
        meaning = self.search.meaning
        meaning.entering(state)
        others = [["t", "other", k] for k in range(SIZE)]
        if (found := next((v for v in others if meaning.forgotten(value, v)), None)) is not None:
            return found
        if not isinstance(value, Term) or not value.deps & (DATA | RAW):
            return "?"
        (hashing,) = (p for p in meaning.parts if isinstance(p, Hashing) and p.name == "x")
        letter, form = hashing.order[-1].letter, meaning.terms.try_form(meaning.canonical(value))
        for at in range(0, state.ghosts["length"], BLOCK_BYTES):
            if form == meaning.terms.try_form(meaning.value(["block", letter, at])):
                return ["t", "block", letter, ["n", str(at)]]
        (initial,) = (p for p in meaning.parts if isinstance(p, Initial))
        if is_mask(meaning, initial, [state], [value]):
            return ["t", "mask"]
        return ["v", "tag"] if meaning.answer and meaning.answer.tag.is_right(state, value) else "?"

    def from_(self, name: str, known: dict[str, int]) -> tuple[State, int]:
        """Return the state of an assertion where some of its unknowns are these."""
        state, address = self.search.source(name)
        still = {n: v for n, v in known.items() if not isinstance(state.ghosts[n], int)}
        (state,) = state.each((_case(still),))
        return state, address

    def compared(self, state: State, address: int) -> int:
        """Return where a run begins to read the given tag of its message: where its address is."""
        variables, vectors = Variables(self.search.meaning.terms), [*state.machine.vec]
        before = last = address
        for now, at in self.walk(state, address):
            new = [a[0] for a, b in zip(now.machine.vec, vectors, strict=True) if a is not b]
            if any(isinstance(v, Term) and GIVEN in variables.of(v) for v in new):
                return before
            before, last, vectors = last, at, [*now.machine.vec]
        raise unsupported("search: no tags of a group that are compared")

    def walk(self, state: State, address: int) -> Iterator[tuple[State, int]]:
        """Yield a state of a group after each instruction, to the end of the group."""
        self.search.meaning.entering(state)
        while address not in self.heads:
            try:
                address = self.search.checker.step(state, address)
            except Fork as question:
                state = state.each(question.cases)[-1]
                self.search.meaning.entering(state)
            else:
                yield state, address

    def follow(
        self, state: State, address: int, to: set[int] | frozenset[int], end: int = 0
    ) -> tuple[int, State]:
        """Return where a run comes first of some places, and its state there."""
        checker, stops, work = self.search.checker, {END, end or self.one, *to}, [(state, address)]
        first = address
        while work:
            state, at = work.pop()
            self.search.meaning.entering(state)
            try:
                while at == first or at not in stops:
                    at, first = checker.step(state, at), -1
            except Fork as question:
                work += [(case, at) for case in state.each(question.cases)]
            except SecretCondition as asked:
                work += [(case, at) for case in checker.answers(state, asked)[:1]]
            else:
                if at in to:
                    return at, state
        raise unsupported("search: no loop over groups")


def _case(values: dict[str, int]) -> Case:
    return Case(values=tuple(values.items()))
