"""Assertions of messages in groups of four whose lengths differ, of one row each.

    mixed     before four records: they are asked whether they are such a group
    look      before AAD of one message is read, for each place and each message
    cipher    where all AAD is read, for each place
    text      before the text of one message, for each place and each message
    hash      where all texts are written and nothing is hashed
    judge     before the tags are compared, in `open_many`
    told      behind the verdict on one message

Lengths of text are in registers. In an assertion those of the other messages are unknowns of their
own, so between two of them one length is gone through at most. Powers of H that another message's
length selects are values of the context, of which no more is known. Behind its own text, a message
has an assertion for each number of its blocks.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.verify.core.linear import Fork
from ghashgen.verify.core.numbers import unknown
from ghashgen.verify.core.refutation import Refutation, unsupported
from ghashgen.verify.core.term import Term, of_table
from ghashgen.verify.machine.machine import END
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

ALL = range(SIZE)

OTHERS = {
    "length": [f"text_{LETTERS[k]}" for k in ALL],
    "aad_length": [f"more_{LETTERS[k]}" for k in ALL],
}
"""The lengths of the messages that are not followed, by their places."""

MOST = {"length": BLOCK_BYTES * ROW, "aad_length": BLOCK_BYTES}
"""Bytes of the longest text and AAD."""

FACTS = (f"{COUNT}-{RECORD}+{PLACE}-{SIZE}", f"{RECORD}-{PLACE}")
"""What is known of the records: there are four."""

JUDGED: dict[str, Any] = {"iv": None, "x": None, "output": "length", "answer": {"tag": "tag"}}

Begun = Callable[[State, int], bool]
"""Whether an instruction belongs to a step, by the state behind it and its address."""

Known = tuple[str, dict[str, int]]
"""The name of an assertion, and what is known where it is followed."""


class Mixed(Groups):
    """The assertions of one function, of which those of other groups have been found."""

    def add(self) -> None:
        """Add them, if there are such groups."""
        if not self.mixed:
            return
        self.held: dict[str, tuple[str, int]] = {}
        """The registers that hold lengths: which one, and of which message."""
        self.powers: list[set[str]] = [set() for _ in ALL]
        """The places that hold the powers of each message."""
        at, state = self.follow(*self.from_(NEXT, {PLACE: 0}), {self.mixed})
        one = self.assertions[MIXED] = self.search.begins(state, at)
        one["facts"], one["from"] = [*FACTS], {NEXT: [self.same]}
        known = {"length": MOST["length"], "aad_length": LIKE["aad_length"]}
        known |= dict.fromkeys(OTHERS["length"], MOST["length"])
        found = {k: [(MIXED, known | {PLACE: k})] for k in ALL}
        # Behind the last branch before AAD is read, nothing of a length has been computed.
        aad = self.first(*self.from_(*found[1][0]), self.reads("aad", "", 0))
        begin = max(ways[0] for now, ways in self.search.after.items() if now < aad and ways[1:])
        self.held |= self.lengths_at(begin)
        found = self.step(f"{LOOK}{LETTERS[0]}", found, lambda _, at: at == begin, 0)
        for j in ALL[1:]:
            found = self.step(f"{LOOK}{LETTERS[j]}", found, self.reads("aad", "aad_length", j), j)
        found = self.step(CIPHER, found, self.reads("iv", "", *ALL), SIZE)
        for j in ALL:
            found = self.step(f"{TEXT}{LETTERS[j]}", found, self.reads("input", "length", j), j)
        found = self.step(HASH, found, self.reads("", "length", *ALL[:-1]), SIZE)
        sources = [one for some in found.values() for one in some]
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
            return not (
                names.isdisjoint(state.memory.regions) and numbers.isdisjoint(self.look(at))
            )

        return begun

    def look(self, at: int) -> frozenset[int]:
        """Return what an instruction reads."""
        return look_at(self.search.checker.image, at).reads

    def first(self, state: State, address: int, begun: Begun) -> int:
        """Return the first instruction of a step that a run comes to."""
        work, out = [(state, address)], {END, self.one}
        while work:
            state, at = work.pop()
            self.search.meaning.entering(state)
            with suppress(Refutation):
                try:
                    while at not in out:
                        to = self.search.checker.step(state, at)
                        if begun(state, at):
                            return at
                        at = to
                except Fork as question:
                    work += [(case, at) for case in state.each(question.cases)]
        raise unsupported("search: no step of a group")

    def step(
        self, kind: str, before: dict[int, list[Known]], begun: Begun, j: int
    ) -> dict[int, list[Known]]:
        """Add the assertions before a step of message j, or of all; return them by places."""
        # What is read of a message is seen in the runs that follow another one.
        places = ((j + 1) % SIZE, (j + 2) % SIZE)
        at = min(self.first(*self.from_(*before[k][0]), begun) for k in places)
        texts = j if kind.startswith((TEXT, HASH)) else -1
        to: dict[int, list[Known]] = {k: [] for k in ALL}
        for k, source, known in [(k, *one) for k, several in before.items() for one in several]:
            for blocks in range(1, ROW + 1) if texts == k + 1 else (0,):
                now = known | ({"length": BLOCK_BYTES * blocks - 1} if blocks else {})
                begin, address = self.from_(source, now)
                vectors = [*begin.machine.vec]
                _, state = self.follow(begin, address, {at})
                if texts > 0:
                    self.powers[texts - 1] |= self.loaded(state, vectors)
                own = LETTERS[blocks - 1] if blocks else source[-1] if texts > k + 1 else ""
                name = f"{kind}{'m' if kind == HASH else ''}{LETTERS[k]}{own}"
                ghosts: dict[str, Any] = {
                    "iv": None,
                    "mask": texts >= 0,
                    "output": "length" if own else "0",
                }
                if not kind.startswith(LOOK) or k < j:
                    ghosts |= self.aad_read
                one = self.put(name, state, at, ghosts, source)
                if own:
                    most = BLOCK_BYTES * (LETTERS.index(own) + 1)
                    one["unknowns"]["length"] = [most - BLOCK_BYTES + 1, most]
                to[k].append((name, now))
        return to

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

    def loaded(self, state: State, before: list[Any]) -> set[str]:
        """Return the places of vector registers that have been loaded from the context."""
        places = registers(self.search.checker.target).items()
        return {
            name for name, place in places
            if place.file == "vec" and of_table(now := place.of(state.machine))
            and now is not before[place.index][place.lane]
        }  # fmt: skip

    def put(
        self, name: str, state: State, at: int, ghosts: dict[str, Any], before: str
    ) -> dict[str, Any]:
        """Add the assertion where a state comes."""
        k = state.ghosts[PLACE]
        one = self.assertions[name] = self.says(state, at)
        lengths = {n: [1, most] for n, most in MOST.items()}
        others = {OTHERS[n][j]: f"{n}_{j}_of" for n in MOST for j in ALL if j != k}
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
        for source, known in before:
            name = f"{JUDGE}m{LETTERS[known[PLACE]]}"
            if name in names:
                earlier = self.assertions[name]
                earlier["from"][source] = [{u: u for u in earlier["unknowns"]}]
                continue
            _, state = self.follow(*self.from_(source, known), {at})
            self.put(name, state, at, JUDGED, source)
            names[name] = known
        return [*names.items()]

    def says(self, state: State, at: int, **more: Any) -> dict[str, Any]:
        """Return an assertion with names for what is in registers."""
        one, k = super().says(state, at, **more), state.ghosts[PLACE]
        places = one["places"]
        for name, (length, j) in self.held.items():
            if name in places:
                places[name] = ["n", length if j == k else OTHERS[length][j]]
        for j in ALL:
            for name in self.powers[j] if j != k else ():
                if places.get(name, ["c"])[0] != "c":
                    places[name] = ["t", "context"]
        return one

    def said(self, state: State, value: Any) -> Any:
        """Return a value that depends on messages or on the context."""
        found, meaning = super().said(state, value), self.search.meaning
        if found != "?" or not isinstance(value, Term):
            return found
        if meaning.forgotten(value, ["t", "context"]):
            return ["t", "context"]
        form = meaning.terms.try_form(value)
        for place in range(0, MOST["length"], BLOCK_BYTES):
            if form is not None and form == meaning.counters.stream(place):
                return ["t", "keystream", ["n", str(place)]]
        return "?"
