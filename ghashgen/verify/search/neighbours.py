"""Assertions of messages in groups of four alike, in narrow registers.

They have the names and the meaning of those of `groups`. But such a group leaves ciphertext blocks
and E_K(J_0) in its frame, reads AAD behind `hash`, and does not take every length.
"""

from contextlib import suppress
from typing import Any

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.verify.core.refutation import Refutation, unsupported
from ghashgen.verify.machine.memory import STACK
from ghashgen.verify.meaning.records import PLACE
from ghashgen.verify.rules.state import State
from ghashgen.verify.search.groups import BEHIND, CHECKS, HASH, JUDGE, LETTERS, LIKE, SIZE, Groups

MOST = 8
"""Blocks of the longest messages of a group, at most."""

AAD = (0, *range(4, BLOCK_BYTES + 1))
"""Lengths of their AAD."""

Found = tuple[int, State]
"""Where a run comes, and its state there."""


class Neighbours(Groups):
    """The assertions of one function, of which `next` has been found."""

    def add(self) -> None:
        """Add them."""
        for blocks in range(1, MOST + 1):
            if not self.is_taken(BLOCK_BYTES * blocks):
                break
            self.of_blocks(blocks)
        self.add_one()

    def of_blocks(self, blocks: int) -> None:
        """Add the assertions of groups of messages of so many blocks."""
        most, letter = BLOCK_BYTES * blocks, LETTERS[blocks - 1]
        known = LIKE | {"length": most}
        ranges = {"length": [self.least(known, most), most], "aad_length": [AAD[0], AAD[-1]]}
        name = self.begun(letter, known, ranges)
        texts = [self.written(*self.from_(name, known | {PLACE: k})) for k in range(SIZE)]
        to = max(at for at, _ in texts)
        ghosts: dict[str, Any] = {"output": "length", "mask": True}
        sources = list[str]()
        for at, state in texts:
            if at != to:
                _, state = self.follow(state, at, {to})
            sources.append(self.named(HASH, name, state, to, ghosts))
        names = [name, *sources]
        if self.search.answers:
            to = self.compared(*self.from_(sources[0], known))
            ghosts |= {"x": None, "mask": False, "answer": {"tag": "tag"}}
            states = [self.follow(*self.from_(one, known), {to})[1] for one in sources]
            sources = [
                self.named(JUDGE, one, state, to, ghosts)
                for one, state in zip(sources, states, strict=True)
            ]
        self.behind(letter, sources, known, ranges)
        for name in (*names, *sources):
            self.assertions[name]["among"] = {"aad_length": [*AAD]}
        self.assertions[f"{CHECKS}{letter}"]["among"] = {BEHIND["aad_length"]: [*AAD]}

    def least(self, known: dict[str, int], most: int) -> int:
        """Return the least length, within its last block, of which there is a group."""
        for value in range(most - BLOCK_BYTES + 1, most + 1):
            if self.is_taken(value):
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

    def says(self, state: State, at: int, **more: Any) -> dict[str, Any]:
        """Return an assertion with names for what is in vector registers and in the frame."""
        one = super().says(state, at, **more)
        for name, said in one["places"].items():
            region, _, where = name.partition("+")
            if said == "?" and region == STACK and where.endswith(f":{BLOCK_BYTES}"):
                place = int(where.partition(":")[0])
                with suppress(Refutation):
                    value = state.memory._read(STACK, place, BLOCK_BYTES)
                    one["places"][name] = self.said(state, value)
        return one
