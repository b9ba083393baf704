"""Assertions of groups of four alike, of one row, each ciphered beside GHASH of the one before.

Here a window is of eight records: of one group the texts are written and nothing is hashed, and
the next one is untouched. Behind its cipher the window slides (docs/gcm-many-proof.md).

    run       before the first group, of which it is not known that it is alike
    read      where the first group's AAD is in a register
    hash      before a group that is ciphered beside GHASH of the one before
    ahead     where that group's AAD is in a register
    judge     behind its cipher, before tags of the one before are compared, in `open_many`
    told      behind the verdict on one message
    drain     before the last group is hashed, with nothing beside it
    checks    behind it

Each is for one place in the window, or for all of a group of which nothing is known.
"""

from collections import Counter
from collections.abc import Collection
from itertools import takewhile
from typing import Any

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.verify.core.linear import Fork
from ghashgen.verify.core.refutation import unsupported
from ghashgen.verify.core.term import DATA, RAW, Term
from ghashgen.verify.machine.machine import END
from ghashgen.verify.meaning.records import COUNT, LARGEST, PLACE, RECORD, WINDOW
from ghashgen.verify.meaning.tag import TAG_LENGTH
from ghashgen.verify.rules.state import State
from ghashgen.verify.search.graph import reached
from ghashgen.verify.search.groups import (
    AHEAD,
    BEHIND,
    CHECKS,
    DRAIN,
    HASH,
    JUDGE,
    LETTERS,
    LIKE,
    NEXT,
    ONE,
    READ,
    RUN,
    SAME,
    SIZE,
    Groups,
    is_of_another,
)
from ghashgen.verify.search.ways import MANY_WAYS

FIRST, SECOND = range(SIZE), range(SIZE, LARGEST)
"""The places of two groups."""

BESIDE = [SIZE, LARGEST - 1]
"""Those of the second group, where nothing is known of it."""

READS: dict[str, Any] = {"mask": False, "output": "0"}
WRITTEN: dict[str, Any] = {"mask": True, "output": "length"}
JUDGED: dict[str, Any] = {"x": None, "mask": False, "output": "length", "answer": {"tag": "tag"}}
NOTHING: dict[str, Any] = {}


class Woven(Groups):
    """The assertions of one function, of which `next` has been found."""

    def group(self, letter: str, blocks: range, rows: int) -> None:
        """Add the assertions of groups of messages of so many blocks, in so many rows."""
        if rows > 1:
            super().group(letter, blocks, rows)
        else:
            self.woven(letter, blocks[0])

    def add_one(self) -> None:
        """Add the assertion before a message that is processed by itself."""
        super().add_one()
        one = self.assertions[ONE]["from"]
        runs = [name for name in self.assertions if name.startswith(RUN)]
        one |= {name: [self.search.way(0, 1)] for name in runs}

    def woven(self, letter: str, blocks: int) -> None:
        """Add the assertions of groups of messages of so many blocks."""
        search, most = self.search, BLOCK_BYTES * blocks
        self.lengths = [most - BLOCK_BYTES + 1, most]
        self.known = LIKE | {"length": most - 1, "text": most - 1, "more": LIKE["aad_length"]}
        alike = {new: old for old, new in BEHIND.items()}
        # Behind a slide a message is followed still, or one that comes.
        ways = self.same | {PLACE: f"{PLACE}-{SIZE}"}, search.way(SIZE, LARGEST) | alike

        run, at = f"{RUN}{letter}", self.before_aad(*self.from_(NEXT, self.known | {PLACE: 0}))
        _, state = self.follow(*self.from_(NEXT, self.known | {PLACE: 0}), {at})
        self.put(run, state, at, [0, LARGEST - 1], SIZE)
        self.assertions[run]["from"] = {NEXT: [search.way(0, LARGEST, SIZE) | alike]}
        to, states = self.met(dict.fromkeys((*FIRST, SIZE), run), FIRST)
        read = self.group_of(READ, letter, dict.fromkeys(states, run), to, states, READS)
        to, states = self.followed(read, self.heads)
        head = self.group_of(HASH, letter, read, to, states, WRITTEN)

        before = {k: head[min(k, SIZE)] for k in range(LARGEST)}
        to, states = self.met(before, SECOND)
        ahead = {k: f"{AHEAD}{letter}{LETTERS[k]}" for k in before}
        for k, name in ahead.items():
            ghosts = WRITTEN if k < SIZE else READS
            self.put(name, states[k], to, [k, k], LARGEST, ghosts, before[k])
        for k, names in self.told_of(letter, ahead).items():
            behind = self.assertions[head[SIZE if k < SIZE else k - SIZE]]
            behind["from"] |= {name: [ways[k < SIZE]] for name in names}

        counted = Counter(to for after in search.after.values() for to in after)
        on = reached(search.after, search.checker.entry + self.assertions[head[0]]["at"])
        to, states = self.followed(head, {at for at in on if counted[at] >= MANY_WAYS})
        drain = self.group_of(DRAIN, letter, head, to, states, WRITTEN)
        last = self.told_of(letter.upper(), drain)
        next_ = search.checker.entry + self.assertions[NEXT]["at"]
        steps = self.walk(*self.from_(last[0][0], self.known))
        *_, (state, at) = takewhile(lambda step: step[1] != next_, steps)
        one = self.put(f"{CHECKS}{letter}", state, at, [0, LARGEST - 1], 0, done=SIZE)
        for name in BEHIND.values():
            del one["unknowns"][name]
        for k, names in last.items():
            way = {n: v for n, v in ways[k < SIZE].items() if n in one["unknowns"]}
            one["from"] |= {name: [way] for name in names}
        self.assertions[NEXT]["from"][f"{CHECKS}{letter}"] = [search.way(0, SIZE, LARGEST)]

    def group_of(
        self, kind: str, letter: str, before: dict[int, str], to: int, states: dict[int, State],
        ghosts: dict[str, Any],
    ) -> dict[int, str]:  # fmt: skip
        """Add assertions for each place of the first group, and one for the second group."""
        names = {k: f"{kind}{letter}{LETTERS[k]}" for k in before}
        for k, name in names.items():
            mine = ([k, k], SIZE, ghosts) if k < SIZE else (BESIDE, SIZE, NOTHING)
            self.put(name, states[k], to, *mine, before[k])
        return names

    def followed(self, before: dict[int, str], to: Collection[int]) -> tuple[int, dict[int, State]]:
        """Return where runs from some assertions, by places, come first; and their states there."""
        found = {
            k: self.follow(*self.from_(source, self.known | {PLACE: k}), {*to})
            for k, source in before.items()
        }
        return found[0][0], {k: state for k, (_, state) in found.items()}

    def told_of(self, letter: str, before: dict[int, str]) -> dict[int, list[str]]:
        """Add the assertions of verdicts, if there are any; return the last names, by places."""
        if not self.search.answers:
            return {k: [name] for k, name in before.items()}
        at, judges = self.compared(*self.from_(before[0], self.known)), list[Any]()
        _, states = self.followed(before, {at})
        for k, source in before.items():
            name, earlier = f"{JUDGE}{letter}{LETTERS[k]}", self.assertions[source]
            beside = NOTHING if "text" in earlier["unknowns"] else WRITTEN
            places, ghosts = earlier["unknowns"][PLACE], JUDGED if k < SIZE else beside
            self.put(name, states[k], at, places, SIZE, ghosts, source)["facts"] = earlier["facts"]
            judges.append((name, self.known | {PLACE: k}))
        out: dict[int, list[str]] = {k: [] for k in before}
        for name, known in self.told(judges):
            out[known[PLACE]].append(name)
        return out

    def says(self, state: State, at: int, **more: Any) -> dict[str, Any]:
        """Return an assertion with names for what is in vector registers."""
        alike = BEHIND if "text" in state.origin else SAME
        window = LARGEST if state.ghosts[WINDOW] == LARGEST else 0
        return super().says(state, at, **{"alike": alike, "window": window} | more)

    def put(
        self, name: str, state: State, at: int, places: list[int], begun: int,
        ghosts: dict[str, Any] = NOTHING, before: str = "", done: int = 0,
    ) -> dict[str, Any]:  # fmt: skip
        """Add an assertion where a state comes, for some places in the window.

        `begun`: so many records of the window there are. `ghosts`: what is known of the message, of
        which nothing is written or read if there are none, and whose lengths may then be others.
        """
        alike = SAME if ghosts else BEHIND
        one = self.assertions[name] = self.says(state, at, alike=alike, window=LARGEST, done=done)
        ranges = {"length": self.lengths, "aad_length": [0, BLOCK_BYTES]}
        one["unknowns"] |= {alike[n]: ends for n, ends in ranges.items()}
        one["unknowns"] |= {PLACE: places}
        if ghosts:
            one["unknowns"] |= {"iv_length": [12, 12]}
            if TAG_LENGTH in one["unknowns"]:
                one["unknowns"][TAG_LENGTH] = [16, 16]
            one["ghosts"] |= {"iv": None} | self.aad_read | ghosts
        one["facts"] = [f"{COUNT}-{RECORD}+{PLACE}-{begun}".removesuffix("-0"), f"{RECORD}-{PLACE}"]
        one["from"] = {before: [{u: u for u in one["unknowns"]}]} if before else {}
        return one

    def met(self, before: dict[int, str], reads: range) -> tuple[int, dict[int, State]]:
        """Return where runs from some assertions, by places, have read the AAD; and their states.

        `reads`: the places of the group whose AAD is read.
        """
        places = set[int]()
        for k in reads:
            way = self.walk(*self.from_(before[k], self.known | {PLACE: k}))
            places.add(next((at for state, at in way if self.is_read(state, at)), 0))
        if 0 in places:
            raise unsupported("search: no place in a group where AAD is read")
        return self.followed(before, {max(places)})

    def before_aad(self, state: State, address: int) -> int:
        """Return where constants are in registers, and nothing of a message is."""
        checker, work, first = self.search.checker, [(state, address, address)], address
        while work:
            state, at, last = work.pop()
            self.search.meaning.entering(state)
            try:
                while at == first or at not in {END, self.one, self.mixed}:
                    before = [*state.machine.vec]
                    at, first = checker.step(state, at), 0
                    new = [a for a, b in zip(state.machine.vec, before, strict=True) if a is not b]
                    # What is 0 may be the AAD.
                    new = [lanes for lanes in new if any(lane != 0 for lane in lanes)]
                    own = [v for lanes in new for v in lanes if isinstance(v, Term)]
                    if any(v.deps & (DATA | RAW) and not is_of_another(v) for v in own):
                        return last
                    last = at if new else last
            except Fork as question:
                work += [(case, at, last) for case in state.each(question.cases)]
        raise unsupported("search: no group whose AAD is read")
