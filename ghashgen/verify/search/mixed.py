"""Assertions of messages in groups of four whose lengths differ, of one or two rows.

    mixed     before four records: they are asked whether they are such a group
    look      before AAD of one message is read, for each place and each message
    cipher    where all AAD is read, for each place and each number of rows
    text      before the text of one message, the last one's first, for each place, each message
              and each number of rows
    hash      where all texts are written and hashed, for each place
    judge     before the tags are compared, in `open_many`
    told      behind the verdict on one message

Lengths of text are in registers. In an assertion those of the other messages are unknowns of their
own, so between two of them one length is gone through at most. Behind the text of a message, X is
the sum of the lanes of a register.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.verify.core.linear import Fork
from ghashgen.verify.core.numbers import unknown
from ghashgen.verify.core.refutation import Refutation, unsupported
from ghashgen.verify.core.term import Term
from ghashgen.verify.machine.machine import END
from ghashgen.verify.meaning.algebra import Sum
from ghashgen.verify.meaning.records import COUNT, PLACE, RECORD
from ghashgen.verify.meaning.tag import TAG_LENGTH
from ghashgen.verify.rules.assertion import registers
from ghashgen.verify.rules.state import State
from ghashgen.verify.search.groups import (
    CIPHER,
    HASH,
    JUDGE,
    LETTERS,
    LIKE,
    LOOK,
    MIXED,
    NEXT,
    ONE,
    ROW,
    SIZE,
    TEXT,
    Groups,
)
from ghashgen.verify.search.looks import look_at
from ghashgen.verify.search.values import FILES
from ghashgen.verify.search.ways import ways_to

ALL = range(SIZE)

OTHERS = {
    "length": [f"text_{LETTERS[k]}" for k in ALL],
    "aad_length": [f"more_{LETTERS[k]}" for k in ALL],
}
"""The lengths of the messages that are not followed, by their places."""

MOST = {"length": BLOCK_BYTES * ROW, "aad_length": BLOCK_BYTES}
"""Bytes of a row of text, and of the longest AAD."""

MOST_ROWS = 2
"""Rows of the longest messages."""

FACTS = (f"{COUNT}-{RECORD}+{PLACE}-{SIZE}", f"{RECORD}-{PLACE}")
"""What is known of the records: there are four."""

JUDGED: dict[str, Any] = {"iv": None, "x": None, "output": "length", "answer": {"tag": "tag"}}

BEGUN, SUMS = "b", [f"x{LETTERS[lane]}" for lane in ALL]
"""Names of X behind the AAD, and of the values whose sum is X behind the text."""

Begun = Callable[[State, int], bool]
"""Whether an instruction belongs to a step, by the state behind it and its address."""

Known = tuple[str, dict[str, int]]
"""The name of an assertion, and what is known where it is followed."""


class Mixed(Groups):
    """The assertions of one function, of which those of other groups have been found."""

    rows = 1
    """Rows of the longest messages in what is found now."""

    def add(self) -> None:
        """Add them, if there are such groups."""
        if not self.mixed:
            return
        self.held: dict[str, tuple[str, int]] = {}
        """The registers that hold lengths: which one, and of which message."""
        at, state = self.follow(*self.from_(NEXT, {PLACE: 0}), {self.mixed})
        one = self.assertions[MIXED] = self.search.begins(state, at)
        one["facts"], one["from"] = [*FACTS], {NEXT: [self.same]}
        aad = self.reads("aad", "", 0)
        first = self.first(*self.from_(MIXED, known(1, 1)), aad)
        with suppress(Refutation):
            for rows in range(2, MOST_ROWS + 1):
                self.first(*self.from_(MIXED, known(1, rows)), aad)
                self.rows = rows
        # Behind the last branch before AAD is read, nothing of a length has been computed.
        after = self.search.after.items()
        begin = max(ways[0] for now, ways in after if now < first and ways[1:])
        self.held |= self.lengths_at(begin)
        found: dict[int, list[Known]] = {k: [(MIXED, known(k, self.rows))] for k in ALL}
        found = self.step(f"{LOOK}{LETTERS[0]}", found, lambda _, at: at == begin, 0)
        for j in ALL[1:]:
            found = self.step(f"{LOOK}{LETTERS[j]}", found, self.reads("aad", "aad_length", j), j)
        written: dict[int, list[Known]] = {k: [] for k in ALL}
        for rows in range(1, self.rows + 1):
            self.rows = rows
            some = {k: [(name, known(k, rows)) for name, _ in found[k]] for k in ALL}
            some = self.step(CIPHER, some, self.reads("iv", "", *ALL), SIZE)
            for letter, j in zip(LETTERS, reversed(ALL), strict=False):
                some = self.step(f"{TEXT}{letter}", some, self.reads("input", "length", j), j)
            written = {k: written[k] + some[k] for k in ALL}
        again = [self.reads("", "length", *ALL[1:]), self.reads("", "aad_length", *ALL)]
        hashed = self.step(HASH, written, lambda *now: any(read(*now) for read in again), -1)
        sources = [one for some in hashed.values() for one in some]
        if self.search.answers:
            sources = self.told(self.judges(sources))
        back = [self.search.way(SIZE, SIZE)]
        self.assertions[NEXT]["from"] |= {name: back for name, _ in sources}
        self.assertions[ONE]["from"][MIXED] = [self.search.way(0, 1)]

    def reads(self, word: str, length: str, *which: int) -> Begun:
        """Return a question: whether such an address of some messages is read, or a length of
        theirs in a register.
        """
        target = registers(self.search.checker.target)
        mine = [name for name, held in self.held.items() if held in [(length, j) for j in which]]
        numbers = {FILES["gpr"] + target[name].index for name in mine}
        names = {f"{word}_{j}_of" for j in which}

        def begun(state: State, at: int) -> bool:
            read = look_at(self.search.checker.image, at).reads
            return not (names.isdisjoint(state.memory.regions) and numbers.isdisjoint(read))

        return begun

    def first(self, state: State, address: int, begun: Begun, branches: bool = False) -> int:
        """Return the first instruction of a step that a run comes to.

        `branches`: or the last one before it where ways part or meet.
        """
        work, out, ways = [(state, address, 0)], {END, self.one}, ways_to(self.search)
        while work:
            state, at, last = work.pop()
            self.search.meaning.entering(state)
            with suppress(Refutation):
                try:
                    while at not in out:
                        last = at if ways[at] > 1 else last
                        to = self.search.checker.step(state, at)
                        if begun(state, at):
                            return last if branches else at
                        last = to if len(self.search.after[at]) > 1 else last
                        at = to
                except Fork as question:
                    work += [(case, at, last) for case in state.each(question.cases)]
        raise unsupported("search: no step of a group")

    def step(
        self, kind: str, before: dict[int, list[Known]], begun: Begun, j: int
    ) -> dict[int, list[Known]]:
        """Add the assertions before a step of message j, or of all; return them by places."""
        # What is read of a message is seen in the runs that follow another one.
        seen = [one for k in ((j + 1) % SIZE, (j + 2) % SIZE) for one in before[k]]
        at = min(self.first(*self.from_(*one), begun, kind == CIPHER) for one in seen)
        texts = kind.startswith((TEXT, HASH))
        to: dict[int, list[Known]] = {k: [] for k in ALL}
        for k, source, now in [(k, *one) for k, several in before.items() for one in several]:
            own = "" if kind.startswith((LOOK, HASH)) else LETTERS[self.rows - 1]
            name = f"{kind}{'m' if kind == HASH else ''}{LETTERS[k]}{own}"
            if name in self.assertions:
                self.also(name, source)
                continue
            _, state = self.follow(*self.from_(source, now), {at})
            ghosts: dict[str, Any] = {
                "iv": None,
                "mask": texts,
                "output": "length" if texts and k > j else "0",
            }
            if not kind.startswith(LOOK) or k < j:
                ghosts |= self.aad_read
            one = self.put(name, state, at, ghosts, source)
            if ["v", BEGUN] in one["places"].values():
                one["ghosts"]["x"] = self.aad_read["x"] | {"sum": [[BEGUN, 0]]}
            if texts and k > j:
                behind = {"hashed": "length", "sum": [[name, 0] for name in SUMS]}
                one["ghosts"]["x"] = self.aad_read["x"] | behind
            to[k].append((name, now))
        return to

    def also(self, name: str, source: str) -> None:
        """Let runs from another assertion come to one."""
        one = self.assertions[name]
        one["from"][source] = [{u: u for u in one["unknowns"]}]

    def lengths_at(self, at: int) -> dict[str, tuple[str, int]]:
        """Return the registers that hold lengths where a run comes to."""
        _, state = self.follow(*self.from_(MIXED, {PLACE: 0}), {at})
        live = self.search.flow.live[at]
        numbers = {unknown(f"{n}_{j}_of" if j else n): (n, j) for n in OTHERS for j in ALL}
        return {
            name: numbers[now]
            for name, place in registers(self.search.checker.target).items()
            if place.file == "gpr" and FILES["gpr"] + place.index in live
            and (now := place.of(state.machine)) in numbers
        }  # fmt: skip

    def put(
        self, name: str, state: State, at: int, ghosts: dict[str, Any], before: str
    ) -> dict[str, Any]:
        """Add the assertion where a state comes."""
        k = state.ghosts[PLACE]
        one = self.assertions[name] = self.says(state, at)
        lengths = {"length": [1, MOST["length"] * self.rows], "aad_length": [0, BLOCK_BYTES]}
        others = {OTHERS[n][j]: f"{n}_{j}_of" for n in lengths for j in ALL if j != k}
        one["unknowns"] |= lengths | {"iv_length": [12, 12], PLACE: [k, k]}
        one["unknowns"] |= {
            OTHERS[n][j]: ends for n, ends in lengths.items() for j in ALL if j != k
        }
        if TAG_LENGTH in one["unknowns"]:
            one["unknowns"][TAG_LENGTH] = [16, 16]
        one["ghosts"] |= ghosts
        one["facts"], way = [*FACTS], {u: u for u in one["unknowns"]}
        if before == MIXED:
            way |= others
        one["from"] = {before: [way]}
        return one

    def judges(self, before: list[Known]) -> list[Known]:
        """Add assertions before the tags of a group are compared; return their names."""
        at, names = self.compared(*self.from_(*before[0])), dict[str, dict[str, int]]()
        for source, now in before:
            name = f"{JUDGE}m{LETTERS[now[PLACE]]}"
            if name in names:
                self.also(name, source)
                continue
            _, state = self.follow(*self.from_(source, now), {at})
            self.put(name, state, at, JUDGED, source)
            names[name] = now
        return [*names.items()]

    def says(self, state: State, at: int, **more: Any) -> dict[str, Any]:
        """Return an assertion with names for what is in registers."""
        one, k = super().says(state, at, **more), state.ghosts[PLACE]
        places = one["places"]
        for name, (length, j) in self.held.items():
            if name in places:
                places[name] = ["n", length if j == k else OTHERS[length][j]]
        for index in range(len(self.search.checker.target.vectors)):
            lanes = [f"v{index}.{lane}" for lane in ALL]
            if all(places.get(lane) == "?" for lane in lanes) and self.is_hashed(state, index):
                places |= {lane: ["v", name] for lane, name in zip(lanes, SUMS, strict=True)}
        return one

    def is_hashed(self, state: State, index: int) -> bool:
        """Return whether the sum of a register's lanes is X behind the text."""
        total: Sum = frozenset()
        for lane in state.machine.vec[index]:
            total ^= self.recognised(lane) or frozenset()
        with suppress(Refutation, Fork):
            return total == self.hashed.unfolded(state, 1, state.ghosts["length"], 0)
        return False

    def recognised(self, value: Any) -> Sum | None:
        """Return a value as a sum of values times powers of H, None if it is none."""
        names = self.search.meaning.names
        found: Sum | None = names.recognised(names.named(value))
        return found

    def said(self, state: State, value: Any) -> Any:
        """Return a value that depends on messages."""
        found, meaning = super().said(state, value), self.search.meaning
        if found != "?" or not isinstance(value, Term):
            return found
        form = meaning.terms.try_form(value)
        if form is None:
            return "?"
        for name in (BEGUN, *SUMS):
            if form == meaning.terms.try_form(meaning.terms.variable(f"u{name}")):
                return ["v", name]
        for place in range(0, MOST["length"] * self.rows, BLOCK_BYTES):
            if form == meaning.counters.stream(place):
                return ["t", "keystream", ["n", str(place)]]
        with suppress(Refutation, Fork):
            if self.recognised(value) == self.hashed.unfolded(state, 1, 0, 0):
                return ["v", BEGUN]
        return "?"


def known(place: int, rows: int) -> dict[str, int]:
    """Return numbers of messages of so many rows, of which the one at a place is followed."""
    text = MOST["length"] * rows - 1
    numbers = {PLACE: place, "length": text, "aad_length": LIKE["aad_length"]}
    return numbers | dict.fromkeys(OTHERS["length"], text)
