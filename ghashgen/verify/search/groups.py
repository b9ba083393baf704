"""Assertions of messages in groups of four alike, of one row of 64 bytes or less.

    next      before any record: four records are asked whether they are alike
    group     before a group: its messages are alike, so what is known of one is known of each
    judge     before the tags of a group are compared, in `open_many`, for each place in it
    checks    behind a group: what is in registers depends on the context and on lengths alone
    one       before a message that is processed by itself

There is a group, and checks, for each number of blocks: the powers of H in registers depend on it.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.verify.core.linear import Case, Fork
from ghashgen.verify.core.refutation import unsupported
from ghashgen.verify.core.term import Term
from ghashgen.verify.machine.flags import SecretCondition
from ghashgen.verify.machine.machine import END
from ghashgen.verify.meaning.letters import GIVEN
from ghashgen.verify.meaning.records import COUNT, PLACE, RECORD
from ghashgen.verify.meaning.tag import TAG_LENGTH
from ghashgen.verify.rules.assertion import registers
from ghashgen.verify.rules.state import State
from ghashgen.verify.search.graph import reached
from ghashgen.verify.search.message import Search

NEXT, ONE, GROUP, CHECKS, JUDGE = "next", "one", "group", "checks", "judge"

ABOVE = {CHECKS: 1, NEXT: 0, GROUP: -1, JUDGE: -2, ONE: -1}
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
    at, most = max(ways.items(), key=lambda item: item[1])
    return at if most >= MANY_WAYS and search.heads - reached(search.after, at) else 0


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
        sources = self.judges(name, known) if search.answers else [name]
        at, state = self.follow(*self.from_(sources[0], known | {PLACE: 0}), self.heads)
        behind = self.assertions[checks] = search.begins(state, at, SIZE, BEHIND)
        behind["unknowns"] |= {"text": lengths, "more": [1, 16]}
        way = search.way(SIZE, SIZE) | {new: old for old, new in BEHIND.items()}
        behind["from"] = {source: [way] for source in sources}
        self.assertions[NEXT]["from"][checks] = [search.way(0, SIZE)]

    def judges(self, group: str, known: dict[str, int]) -> list[str]:
        """Add assertions before the tags of a group are compared; return their names."""
        search, names, at = self.search, list[str](), 0
        whole, is_right = self.assertions[group], search.meaning.answer.tag.is_right
        for index in range(SIZE):
            state, address = self.from_(group, known | {PLACE: index})
            at = at or self.compared(state.copy(), address)
            _, state = self.follow(state, address, {at})
            names.append(f"{JUDGE}{group[-1]}{'abcd'[index]}")
            one = self.assertions[names[-1]] = search.begins(state, at, alike=SAME)
            for name, place in registers(search.checker.target).items():
                if place.file == "vec" and is_right(state, place.of(state.machine)):
                    others = {f"v{place.index}.{k}": ["t", "other", k] for k in range(SIZE)}
                    one["places"] |= others | {name: ["v", "tag"]}
            one["unknowns"] |= {n: whole["unknowns"][n] for n in search.meaning.lengths}
            one["unknowns"][PLACE] = [index, index]
            one["ghosts"] |= {"iv": None, "x": None, "output": "length", "answer": {"tag": "tag"}}
            one |= {"facts": whole["facts"], "from": {group: [self.same]}}
        return names

    def from_(self, name: str, known: dict[str, int]) -> tuple[State, int]:
        """Return the state of an assertion where some of its unknowns are these."""
        state, address = self.search.source(name)
        still = {n: v for n, v in known.items() if not isinstance(state.ghosts[n], int)}
        (state,) = state.each((_case(still),))
        return state, address

    def compared(self, state: State, address: int) -> int:
        """Return where a run, of the first message of a group, begins to read its given tag."""
        checker, meaning, before = self.search.checker, self.search.meaning, address
        meaning.entering(state)
        while address not in self.heads:
            vectors = [*state.machine.vec]
            try:
                following = checker.step(state, address)
            except Fork as question:
                state = state.each(question.cases)[-1]
                meaning.entering(state)
                continue
            new = [a[0] for a, b in zip(state.machine.vec, vectors, strict=True) if a is not b]
            if any(isinstance(v, Term) and GIVEN in meaning.text.variables.of(v) for v in new):
                return before
            before, address = address, following
        raise unsupported("search: no tags of a group that are compared")

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
