"""Assertions of messages in groups of four whose lengths differ, in registers of two lanes.

They have the names and the meaning of those of `mixed`. But AAD, keystream and blocks are in the
frame, and all messages have the same powers of H and as many bytes of AAD, which is read at once.
"""

from typing import Any

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.verify.core.values import Pointer
from ghashgen.verify.meaning.records import PLACE
from ghashgen.verify.meaning.tag import TAG_LENGTH
from ghashgen.verify.rules.assertion import registers
from ghashgen.verify.rules.state import State
from ghashgen.verify.search.groups import (
    CIPHER,
    HASH,
    LETTERS,
    LOOK,
    MIXED,
    NEXT,
    ONE,
    ROW,
    SIZE,
    TEXT,
)
from ghashgen.verify.search.mixed import ALL, FACTS, JUDGED, MOST, OTHERS, Begun, Known, Mixed
from ghashgen.verify.search.neighbours import AAD, Neighbours

LEAST = BLOCK_BYTES
"""Bytes of the shortest text."""

CELL = f":{BLOCK_BYTES}"
"""How the name of a block's place in the frame ends."""

ENDS = {"length": [LEAST, MOST["length"]], "aad_length": [0, BLOCK_BYTES]}


class Unlike(Mixed, Neighbours):
    """The assertions of one function, of which those of other groups have been found."""

    def add(self) -> None:
        """Add them, if there are such groups."""
        if not self.mixed:
            return
        self.held = {}
        at, state = self.follow(*self.from_(NEXT, {PLACE: 0}), {self.mixed})
        one = self.assertions[MIXED] = self.search.begins(state, at)
        one["facts"], one["from"] = [*FACTS], {NEXT: [self.same]}
        known = {"length": MOST["length"], "aad_length": BLOCK_BYTES}
        known |= dict.fromkeys(OTHERS["length"], MOST["length"])
        found: dict[int, list[Known]] = {k: [(MIXED, known | {PLACE: k})] for k in ALL}
        # The last question before AAD is read is how many bytes it has; nothing is computed before.
        aad = self.first(*self.from_(*found[1][0]), self.reads("aad", "", *ALL))
        *_, begin, _ = sorted(w[0] for now, w in self.search.after.items() if now < aad and w[1:])
        self.held |= self.lengths_at(begin)
        found = self.step(LOOK, found, lambda _, at: at == begin, SIZE)
        for k in ALL:
            self.assertions[f"{LOOK}{LETTERS[k]}"]["among"] = {"aad_length": [*AAD]}
        found = self.step(CIPHER, found, self.reads("iv", "", *ALL), SIZE)
        for j in ALL:
            found = self.step(f"{TEXT}{LETTERS[j]}", found, self.reads("input", "length", j), j)
        found = self.step(HASH, found, self.reads("", "length", *ALL[:-1]), SIZE)
        sources = [one for some in found.values() for one in some]
        if self.search.answers:
            sources = self.told(self.judges(sources))
        self.assertions[NEXT]["from"] |= {
            name: [self.search.way(SIZE, SIZE)] for name, _ in sources
        }
        self.assertions[ONE]["from"][MIXED] = [self.search.way(0, 1)]

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
                now = known | ({"length": max(BLOCK_BYTES * blocks - 1, LEAST)} if blocks else {})
                _, state = self.follow(*self.from_(source, now), {at})
                own = LETTERS[blocks - 1] if blocks else source[-1] if texts > k + 1 else ""
                name = f"{kind}{'m' if kind == HASH else ''}{LETTERS[k]}{own}"
                ghosts: dict[str, Any] = {
                    "iv": None, "mask": texts >= 0, "output": "length" if own else "0",
                }  # fmt: skip
                one = self.put(
                    name, state, at, ghosts | (self.aad_read if kind != LOOK else {}), source
                )
                if own:
                    most = BLOCK_BYTES * (LETTERS.index(own) + 1)
                    one["unknowns"]["length"] = [max(most - BLOCK_BYTES + 1, LEAST), most]
                to[k].append((name, now))
        return to

    def says(self, state: State, at: int, **more: Any) -> dict[str, Any]:
        """Return an assertion with names for what is in registers and in the frame."""
        one = super().says(state, at, **more)
        places = registers(self.search.checker.target)
        for name in self.held.keys() & one["places"].keys():
            # A register that held a length may hold the address of the frame.
            if isinstance(now := places[name].of(state.machine), Pointer):
                one["places"][name] = ["p", now.region, str(now.offset)]
            elif self.held[name][0] == "aad_length":
                one["places"][name] = ["n", "aad_length"]
        return one

    def said(self, state: State, value: Any) -> Any:
        """Return a value that depends on messages, or that is the same in all."""
        return ["c", hex(value)] if isinstance(value, int) else super().said(state, value)

    def put(
        self, name: str, state: State, at: int, ghosts: dict[str, Any], before: str
    ) -> dict[str, Any]:
        """Add the assertion where a state comes."""
        k = state.ghosts[PLACE]
        one = self.assertions[name] = self.says(state, at)
        one["unknowns"] |= ENDS | {"iv_length": [12, 12], PLACE: [k, k]}
        others = {OTHERS["length"][j]: f"length_{j}_of" for j in ALL if j != k}
        one["unknowns"] |= dict.fromkeys(others, ENDS["length"])
        if TAG_LENGTH in one["unknowns"]:
            one["unknowns"][TAG_LENGTH] = [16, 16]
        one["ghosts"] |= ghosts
        if ghosts is JUDGED:  # Nothing of the frame is needed.
            one["places"] |= dict.fromkeys((p for p in one["places"] if p.endswith(CELL)), "?")
        one["facts"], way = [*FACTS], {u: u for u in one["unknowns"]}
        one["from"] = {before: [way | (others if before == MIXED else {})]}
        return one
