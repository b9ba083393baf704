"""Assertions of messages in groups of four alike, in narrow registers.

They have the names and the meaning of those of `groups`. But such a group leaves ciphertext blocks
and E_K(J_0) in its frame, reads AAD behind `hash`, and does not take every length.
"""

from contextlib import suppress
from typing import Any

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.verify.core.linear import Case
from ghashgen.verify.core.refutation import Refutation, unsupported
from ghashgen.verify.machine.machine import END
from ghashgen.verify.machine.memory import STACK
from ghashgen.verify.meaning.records import COUNT, PLACE, RECORD
from ghashgen.verify.meaning.tag import TAG_LENGTH
from ghashgen.verify.rules.state import State
from ghashgen.verify.search.groups import (
    BEHIND,
    CHECKS,
    GROUP,
    HASH,
    JUDGE,
    LIKE,
    NEXT,
    ONE,
    SAME,
    SIZE,
    Groups,
)

MOST = 4
"""Blocks of the longest messages of a group."""

PLACES = "abcd"

Found = tuple[int, State]
"""Where a run comes, and its state there."""


class Neighbours(Groups):
    """The assertions of one function, of which `next` has been found."""

    def add(self) -> None:
        """Add them."""
        for blocks in range(1, MOST + 1):
            self.of_blocks(blocks)
        (few,) = self.search.source(NEXT)[0].each(
            (Case(values=((PLACE, 0), (COUNT, 1), (RECORD, 0))),)
        )
        _, state = self.follow(few, self.search.source(NEXT)[1], {self.one}, END)
        self.assertions[ONE] = self.search.begins(state, self.one, window=1) | {
            "facts": [f"{COUNT}-{RECORD}-1"], "from": {NEXT: [self.search.way(0, 1)]},
        }  # fmt: skip

    def of_blocks(self, blocks: int) -> None:
        """Add the assertions of groups of messages of so many blocks."""
        search, most, letter = self.search, BLOCK_BYTES * blocks, PLACES[blocks - 1]
        name, checks = f"{GROUP}{letter}", f"{CHECKS}{letter}"
        known = LIKE | {"length": most}
        ranges = {
            name: [self.least(known, name, most), most]
            for name, most in (("length", most), ("aad_length", BLOCK_BYTES))
        }
        at, state = self.entering(known)
        one = self.assertions[name] = search.begins(state, at, alike=SAME)
        one["unknowns"] |= ranges | {"iv_length": [12, 12]}
        if TAG_LENGTH in one["unknowns"]:
            one["unknowns"][TAG_LENGTH] = [16, 16]
        one["facts"] = [f"{COUNT}-{RECORD}+{PLACE}-{SIZE}", f"{RECORD}-{PLACE}"]
        one["from"] = {NEXT: [self.same], checks: [self.same]}
        texts = [self.written(*self.from_(name, known | {PLACE: k})) for k in range(SIZE)]
        to = max(at for at, _ in texts)
        ghosts: dict[str, Any] = {"iv": None, "output": "length", "mask": True}
        sources = [
            self.at_place(HASH, name, *(one if one[0] == to else self.follow(one[1], one[0], {to})),
                          ghosts)
            for one in texts
        ]  # fmt: skip
        if search.answers:
            to = self.compared(*self.from_(sources[0], known))
            ghosts |= {"x": None, "mask": False, "answer": {"tag": "tag"}}
            sources = [
                self.at_place(JUDGE, one, *self.follow(*self.from_(one, known), {to}), ghosts)
                for one in sources
            ]
        at, state = self.follow(*self.from_(sources[0], known), self.heads)
        behind = self.assertions[checks] = search.begins(state, at, SIZE, BEHIND)
        behind["unknowns"] |= {new: ranges[old] for old, new in BEHIND.items()}
        way = search.way(SIZE, SIZE) | {new: old for old, new in BEHIND.items()}
        behind["from"] = {source: [way] for source in sources}
        self.assertions[NEXT]["from"][checks] = [search.way(0, SIZE)]

    def entering(self, known: dict[str, int]) -> Found:
        """Return where messages of some lengths come to a group."""
        return self.follow(*self.from_(NEXT, known | {PLACE: 0}), self.inside)

    def least(self, known: dict[str, int], length: str, most: int) -> int:
        """Return the least value of a length, within its last block, for which there is a group."""
        for value in range(most - BLOCK_BYTES + 1, most + 1):
            with suppress(Refutation):
                self.entering(known | {length: value})
                return value
        raise unsupported("search: no group of messages of a length")

    def written(self, state: State, address: int) -> Found:
        """Return where the text is written, and its ciphertext and E_K(J_0) have names."""
        text = self.search.meaning.text
        for now, at in self.walk(state, address):
            length = now.ghosts["length"]
            if len(now.memory.written[text.out]) == length:
                blocks = [["n", str(k)] for k in range(0, length, BLOCK_BYTES)]
                names = [["t", "mask"], *(["t", "block", text.hashed.letter, k] for k in blocks)]
                found = [*self.says(now, at)["places"].values()]
                if all(name in found for name in names):
                    return at, now
        raise unsupported("search: no place in a group where its texts are written")

    def at_place(
        self, kind: str, before: str, at: int, state: State, ghosts: dict[str, Any]
    ) -> str:
        """Add an assertion where a state comes, which follows a known place; return its name."""
        earlier, index = self.assertions[before], state.ghosts[PLACE]
        name = f"{kind}{before.removeprefix(GROUP).removeprefix(HASH)[0]}{PLACES[index]}"
        one = self.assertions[name] = self.says(state, at)
        one["unknowns"] |= {n: earlier["unknowns"][n] for n in self.search.meaning.lengths}
        one["unknowns"][PLACE] = [index, index]
        one["ghosts"] |= ghosts
        one |= {"facts": earlier["facts"], "from": {before: [self.same]}}
        return name

    def says(self, state: State, at: int) -> dict[str, Any]:
        """Return an assertion with names for what is in vector registers and in the frame."""
        one = super().says(state, at)
        for name, said in one["places"].items():
            region, _, where = name.partition("+")
            if said == "?" and region == STACK and where.endswith(f":{BLOCK_BYTES}"):
                place = int(where.partition(":")[0])
                with suppress(Refutation):
                    value = state.memory._read(STACK, place, BLOCK_BYTES)
                    one["places"][name] = self.said(state, value)
        return one
