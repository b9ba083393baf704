"""Assertions of messages in groups of four alike, of four rows of 64 bytes or less.

    next      before any record: four records are asked whether they are alike
    group     before a group: its messages are alike, so what is known of one is known of each
    read      where their AAD is in a register, for each place in the group
    last      where all rows but the last are written, if there are several, for each place
    hash      where the texts of a group are written and nothing is hashed, for each place
    judge     before the tags of a group are compared, in `open_many`, for each place
    told      behind the verdict on one message, for each place and each answer of its own
    checks    behind a group: what is in registers depends on the context and on lengths alone
    one       before a message that is processed by itself

A group of one row has an assertion for each number of blocks: the powers of H in registers depend
on it. One of more rows is for all lengths of its last row, and only `hash` is for a number of
blocks. So lengths of AAD are gone through before `read`, those of text before `hash`.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.verify.core.linear import Case, Fork
from ghashgen.verify.core.numbers import combined, unknown
from ghashgen.verify.core.refutation import Refutation, unsupported
from ghashgen.verify.core.term import DATA, OPAQUE, RAW, Term
from ghashgen.verify.machine.flags import SecretCondition
from ghashgen.verify.machine.machine import END
from ghashgen.verify.meaning.buffers import NUMBER_BYTES
from ghashgen.verify.meaning.hashing import Hashing
from ghashgen.verify.meaning.initial import Initial
from ghashgen.verify.meaning.letters import GIVEN
from ghashgen.verify.meaning.records import COUNT, MESSAGES, PLACE, RECORD, STATUS
from ghashgen.verify.meaning.tag import TAG_LENGTH
from ghashgen.verify.meaning.text import ANSWER, DIFFERS, DONE, RIGHT
from ghashgen.verify.rules.assertion import registers
from ghashgen.verify.rules.state import State
from ghashgen.verify.search.graph import reached
from ghashgen.verify.search.held import is_mask
from ghashgen.verify.search.variables import Variables
from ghashgen.verify.search.ways import asked

NEXT, ONE, GROUP, READ, LAST = "next", "one", "group", "read", "last"
HASH, JUDGE, TOLD, CHECKS = "hash", "judge", "told", "checks"
RUN, AHEAD, DRAIN = "run", "ahead", "drain"

MIXED, LOOK, CIPHER, TEXT = "mixed", "look", "cipher", "text"
"""Those of groups whose lengths differ (`search.mixed`)."""

EACH = tuple(f"{step}{letter}" for step in (LOOK, TEXT) for letter in "abcd")

STEPS = (RUN, GROUP, READ, LAST, MIXED, *EACH[:4], CIPHER, *EACH[4:], HASH, AHEAD, DRAIN, JUDGE)
"""What comes after another in a group."""

SIZE, ROW, MOST_ROWS = 4, 4, 4
"""Messages of a group, blocks of a row, and rows of the longest messages."""

LETTERS = "abcdefghijklmnop"
"""Places, groups and numbers of blocks in names."""

BELOW = (*STEPS, *(f"{TOLD}{LETTERS[k]}" for k in range(SIZE)))
ABOVE = {CHECKS: 1, NEXT: 0} | {step: -1 - k for k, step in enumerate((*BELOW, ONE))}
"""What falls from cut to cut, beside the messages that are left."""

SAME = {"length": "length", "aad_length": "aad_length"}
BEHIND = {"length": "text", "aad_length": "more"}
"""The lengths that are alike, and their names in a group and behind it."""

LIKE = {"aad_length": 5}
"""A message that is followed, beside its text."""

AAD_READ = ["v", "s"]
"""What is in a register where AAD is read: its block, or 0 if there is none."""


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
        self.mixed = asked(self.search, self.one, heads)
        """Where four messages are asked whether they are a group of other lengths, 0 if nowhere."""
        self.inside = {at for at in after for o, last in loops.items() if o <= at <= last}
        self.assertions: dict[str, Any] = self.search.data["assertions"]
        meaning = self.search.meaning
        self.same = {n: n for n in meaning.numbers}
        (self.hashed,) = (p for p in meaning.parts if isinstance(p, Hashing) and p.name == "x")
        # Behind the AAD, X is what has been read of it, times H.
        behind = {"of": self.hashed.order[1].buffer, "hashed": "0", "ahead": 0}
        self.aad_read = {"x": behind | {"sum": [[AAD_READ[1], 1]]}}

    def add(self) -> None:
        """Add them."""
        for number in range(1, ROW + 1):
            self.group(LETTERS[number - 1], range(number, number + 1), 1)
        for rows in range(2, MOST_ROWS + 1):
            blocks = range(ROW * (rows - 1) + 1, ROW * rows + 1)
            if not self.is_taken(BLOCK_BYTES * blocks[-1]):
                break
            self.group(LETTERS[ROW + rows - 2], blocks, rows)
        self.add_one()

    def add_one(self) -> None:
        """Add the assertion before a message that is processed by itself."""
        (few,) = self.search.source(NEXT)[0].each((_case({PLACE: 0, COUNT: 1, RECORD: 0}),))
        _, state = self.follow(few, self.search.source(NEXT)[1], {self.one}, END)
        self.assertions[ONE] = self.search.begins(state, self.one, window=1) | {
            "facts": [f"{COUNT}-{RECORD}-1"], "from": {NEXT: [self.search.way(0, 1)]},
        }  # fmt: skip

    def is_taken(self, length: int) -> bool:
        """Return whether there are groups of messages of a length."""
        with suppress(Refutation):
            self.follow(*self.from_(NEXT, LIKE | {"length": length, PLACE: 0}), self.inside)
            return True
        return False

    def group(self, letter: str, blocks: range, rows: int) -> None:
        """Add the assertions of groups of messages of so many blocks, in so many rows."""
        lengths = [BLOCK_BYTES * (blocks[0] - 1) + 1, BLOCK_BYTES * blocks[-1]]
        known = LIKE | {"length": lengths[1] - 1}
        ranges = {"length": lengths, "aad_length": [0, BLOCK_BYTES]}
        name = self.begun(letter, known, ranges)
        places = [(name, known | {PLACE: index}) for index in range(SIZE)]
        written = BLOCK_BYTES * ROW * (rows - 1)
        before = self.placed(READ, places, 0)
        if rows > 1:
            before = self.placed(LAST, before, written)
        sources = list[tuple[str, dict[str, int]]]()
        for number in blocks:
            own = {"length": BLOCK_BYTES * number - 1}
            several = LETTERS[number - 1] if rows > 1 else ""
            some = [(source, now | own) for source, now in before]
            sources += self.placed(HASH, some, own["length"], several, number)
        if self.search.answers:
            sources = self.told(self.judges(sources))
        self.behind(letter, [source for source, _ in sources], sources[0][1], ranges)

    def begun(self, letter: str, known: dict[str, int], ranges: dict[str, list[int]]) -> str:
        """Add the assertion before groups of messages whose lengths are so; return its name."""
        search, name = self.search, f"{GROUP}{letter}"
        at, state = self.follow(*self.from_(NEXT, known | {PLACE: 0}), self.inside)
        one = self.assertions[name] = search.begins(state, at, alike=SAME)
        one["unknowns"] |= ranges | {"iv_length": [12, 12]}
        if TAG_LENGTH in one["unknowns"]:
            one["unknowns"][TAG_LENGTH] = [16, 16]
        one["facts"] = [f"{COUNT}-{RECORD}+{PLACE}-{SIZE}", f"{RECORD}-{PLACE}"]
        one["from"] = {NEXT: [self.same], f"{CHECKS}{letter}": [self.same]}
        return name

    def behind(
        self, letter: str, sources: list[str], known: dict[str, int], ranges: dict[str, list[int]]
    ) -> None:
        """Add the assertion behind groups, to which runs come from some others."""
        search, name = self.search, f"{CHECKS}{letter}"
        at, state = self.follow(*self.from_(sources[0], known), self.heads)
        one = self.assertions[name] = search.begins(state, at, SIZE, BEHIND)
        one["unknowns"] |= {new: ranges[old] for old, new in BEHIND.items()}
        way = search.way(SIZE, SIZE) | {new: old for old, new in BEHIND.items()}
        one["from"] = {source: [way] for source in sources}
        self.assertions[NEXT]["from"][name] = [search.way(0, SIZE)]

    def placed(
        self, kind: str, before: list[tuple[str, dict[str, int]]], written: int,
        several: str = "", blocks: int = 0,
    ) -> list[tuple[str, dict[str, int]]]:  # fmt: skip
        """Add assertions where so many bytes of text are written and AAD is read, for each place.

        Return their names, with what is known where they are followed. `blocks` is the number of
        blocks of the messages, if they are for one alone.
        """
        found = list[tuple[State, int]]()
        for source, known in before:
            for state, at in self.walk(*self.from_(source, known)):
                if self.is_written(state, at, written):
                    found.append((state, at))
                    break
            else:
                raise unsupported(f"search: no place in a group for {kind}")
        to, names = max(at for _, at in found), list[tuple[str, dict[str, int]]]()
        for (source, known), (state, at) in zip(before, found, strict=True):
            if at != to:
                _, state = self.follow(state, at, {to})
            ghosts = {"mask": kind != READ, "output": "length" if kind == HASH else str(written)}
            ghosts |= self.aad_read
            name = self.named(kind, source, state, to, ghosts, several)
            if blocks:
                least = BLOCK_BYTES * (blocks - 1) + 1
                self.assertions[name]["unknowns"]["length"] = [least, BLOCK_BYTES * blocks]
            names.append((name, known))
        return names

    def is_written(self, state: State, at: int, written: int) -> bool:
        """Return whether so much text is written, and AAD is read."""
        text = self.search.meaning.text
        done = len(state.memory.written[text.out]) + state.ghosts[DONE]
        return done == written and self.is_read(state, at)

    def is_read(self, state: State, at: int) -> bool:
        """Return whether AAD of the message is in a register, and all that is of it has a name."""
        says, places = self.says(state, at)["places"], registers(self.search.checker.target)
        return AAD_READ in says.values() and not any(
            v == "?" and "+" not in place and not is_of_another(places[place].of(state.machine))
            for place, v in says.items()
        )

    def judges(self, before: list[tuple[str, dict[str, int]]]) -> list[tuple[str, dict[str, int]]]:
        """Add assertions before the tags of a group are compared; return their names."""
        at, names = self.compared(*self.from_(*before[0])), dict[str, dict[str, int]]()
        ghosts: dict[str, Any] = {"x": None, "mask": False, "answer": {"tag": "tag"}}
        for source, known in before:
            index = known[PLACE]
            name = f"{JUDGE}{source.removeprefix(HASH)[0]}{LETTERS[index]}"
            if name in self.assertions:
                self.assertions[name]["from"][source] = [self.same]
                continue
            _, state = self.follow(*self.from_(source, known), {at})
            self.named(JUDGE, source, state, at, ghosts | {"output": "length"})
            group = self.assertions[f"{GROUP}{name.removeprefix(JUDGE)[0]}"]
            self.assertions[name]["unknowns"]["length"] = group["unknowns"]["length"]
            names[name] = known
        return [*names.items()]

    def told(self, before: list[tuple[str, dict[str, int]]]) -> list[tuple[str, dict[str, int]]]:
        """Add assertions behind each verdict but the last; return the last ones' names.

        A verdict stands where the way of a wrong tag joins that of a right one.
        """
        ways = Counter(to for after in self.search.after.values() for to in after)
        passed = (at for _, at in self.walk(*self.from_(*before[0])) if ways[at] > 1)
        places = [*islice(passed, SIZE - 1)]
        out = list[tuple[str, dict[str, int]]]()
        for judge, known in before:
            index, names = known[PLACE], {"": judge}
            for k, at in enumerate(places):
                asked = dict.fromkeys((RIGHT, DIFFERS), names[""]) if k == index else names
                names = {
                    answer: self.answered(k, answer, judge, source, at, known)
                    for answer, source in asked.items()
                }
            out += [(name, known) for name in names.values()]
        return out

    def answered(
        self, k: int, answer: str, judge: str, source: str, at: int, known: dict[str, int]
    ) -> str:
        """Add an assertion behind verdict k, where a message has an answer or none yet."""
        meaning, earlier = self.search.meaning, self.assertions[judge]
        _, state = self.follow(*self.from_(source, known), {at})
        name = f"{TOLD}{LETTERS[k]}{judge.removeprefix(JUDGE)}{answer[:1]}"
        one = self.assertions[name] = self.says(state, at)
        one["ghosts"] = {**earlier["ghosts"], ANSWER: answer or earlier["ghosts"][ANSWER]}
        one |= {n: earlier[n] for n in ("unknowns", "facts")}
        one["from"] = {source: [{u: u for u in one["unknowns"]}]}
        if answer:
            status = combined(meaning.at({RECORD: unknown(RECORD)}), STATUS)
            one["places"][f"{MESSAGES}+{status}:{NUMBER_BYTES}"] = [
                "n",
                str(int(answer == DIFFERS)),
            ]
        return name

    def named(
        self, kind: str, before: str, state: State, at: int, ghosts: dict[str, Any],
        several: str = "",
    ) -> str:  # fmt: skip
        """Add an assertion where a state comes, which follows a known place; return its name."""
        earlier, index = self.assertions[before], state.ghosts[PLACE]
        step = next(step for step in STEPS if before.startswith(step))
        name = f"{kind}{before.removeprefix(step)[0]}{LETTERS[index]}{several}"
        one = self.assertions[name] = self.says(state, at)
        one["unknowns"] |= {n: earlier["unknowns"][n] for n in self.search.meaning.lengths}
        one["unknowns"][PLACE] = [index, index]
        one["ghosts"] |= {"iv": None} | ghosts
        one |= {"facts": earlier["facts"], "from": {before: [self.same]}}
        return name

    def says(self, state: State, at: int, **more: Any) -> dict[str, Any]:
        """Return an assertion with names for what is in vector registers."""
        one: dict[str, Any] = self.search.begins(state, at, **{"alike": SAME} | more)
        for name, place in registers(self.search.checker.target).items():
            if place.file == "vec" and one["places"].get(name) == "?":
                one["places"][name] = self.said(state, place.of(state.machine))
        return one

    def said(self, state: State, value: Any) -> Any:
        """Return a value that depends on messages: a block, E_K(J_0) or a tag."""
        meaning = self.search.meaning
        meaning.entering(state)
        if not isinstance(value, Term) or not value.deps & (DATA | RAW):
            return "?"
        form = meaning.terms.try_form(meaning.canonical(value))
        aad, text = self.hashed.order
        for name in (f"{aad.letter}0", f"u{AAD_READ[1]}"):
            if form == meaning.terms.try_form(meaning.terms.variable(name)):
                return AAD_READ
        for at in range(0, state.ghosts["length"], BLOCK_BYTES):
            if form == meaning.terms.try_form(meaning.value(["block", text.letter, at])):
                return ["t", "block", text.letter, ["n", str(at)]]
        (initial,) = (p for p in meaning.parts if isinstance(p, Initial))
        if is_mask(meaning, initial, [state], [value]):
            return ["t", "mask"]
        if meaning.answer is None or ANSWER in state.ghosts:
            return "?"
        return ["v", "tag"] if meaning.answer.tag.is_right(state, value) else "?"

    def from_(self, name: str, known: dict[str, int]) -> tuple[State, int]:
        """Return the state of an assertion where some of its unknowns are these."""
        state, address = self.search.source(name)
        still = {n: v for n, v in known.items() if n in state.facts.ranges}
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
        first = address
        while address == first or address not in self.heads:
            try:
                address, first = self.search.checker.step(state, address), 0
            except Fork as question:
                state = state.each(question.cases)[0]
                self.search.meaning.entering(state)
            except SecretCondition as asked:
                state = self.search.checker.answers(state, asked)[0]
                self.search.meaning.entering(state)
            else:
                yield state, address

    def follow(
        self, state: State, address: int, to: set[int] | frozenset[int], end: int = 0
    ) -> tuple[int, State]:
        """Return where a run comes first of some places, and its state there."""
        checker, work, first = self.search.checker, [(state, address)], address
        stops = {END, end or self.one, checker.entry + self.assertions[NEXT]["at"], *to}
        if address != self.mixed:
            stops |= {self.mixed}
        while work:
            state, at = work.pop()
            self.search.meaning.entering(state)
            try:
                while at == first or at not in stops:
                    at, first = checker.step(state, at), 0
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


def is_of_another(value: Any) -> bool:
    """Return whether a value is a constant, or one without polynomials: of another message."""
    return not isinstance(value, Term) or bool(value.deps & OPAQUE)
