"""Whole groups of a compact kernel with 32 vector registers.

A group's GHASH is straight, and spread over the rounds of the cipher that every key size has. The
rounds that only longer keys have stand before most of it. A turn begins with its states: they wait
for nothing, so a CPU computes them beside the end of the turn before.

    round      1, 2, 3           4 …            … Nr - 1, Nr
    cipher     all sizes         longer keys    all sizes, Nr with the text
    GHASH      registers 3, 4                   the others, reduction

Encryption hashes a group behind: the first is only enciphered, in a loop over the rounds, and the
last is hashed beside AES of the rest (`Behind`). So most of a turn's sum starts late: by then that
group is in memory.
"""

from dataclasses import dataclass

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.ir.program import VReg
from ghashgen.kernels.aes.cipher import ROUNDS as ALL_ROUNDS
from ghashgen.kernels.aes.rolled import first_index, round_at, rounds_from, step
from ghashgen.kernels.gcm.parts.numbers import Numbers
from ghashgen.kernels.gcm.parts.sums import Sums, product
from ghashgen.kernels.gcm.parts.text import Text
from ghashgen.kernels.gcm.parts.ways import Way
from ghashgen.kernels.hash.parts.group import add_group, group_keys
from ghashgen.kernels.hash.parts.interface import GROUP, key_sum, load_block

FIRST = range(1, 4)
"""Rounds before those that only longer keys have."""

LEAST_ROUNDS, *MORE_ROUNDS = sorted(ALL_ROUNDS.values())
"""Of the shortest keys, and of the longer ones."""

MARGIN = 0.05
"""The part of a stretch between branches at whose ends the cipher runs alone."""


class _Group:
    """A turn of the loop: AES of a group, and GHASH of that at `at`."""

    def __init__(self, text: Text, X: VReg, at: VReg, states: list[VReg], numbers: Numbers) -> None:
        self.text, self.b, self.keys, self.numbers = text, text.b, text.keys, numbers
        self.X, self.at, self.states = X, at, states
        self.asked = 0

    def record(self) -> None:
        """Record the turn."""
        b, text, hashing = self.b, self.text, self.text.kernel.hash
        self.i = b.gpr("gpr_const", 0, note="place of the keys, from those of the shortest")
        self.end = self.keys.end()
        self.numbers.put(self.states)
        with b.stream("hash", start=MARGIN, end=1 - MARGIN, lean=False):
            keys = group_keys(b, hashing, text.context)
            hashed = add_group(b, hashing, text.context, self.X, self.at, keys, load=self._load)
            b.assign(self.X, hashed)
        with b.stream("cipher", lean=False):
            self._rounds(range(FIRST.stop, LEAST_ROUNDS))
            last = self.keys.indexed(self.i, LEAST_ROUNDS, text.kernel.lane_count)
            text.write(self.states, key=last)

    def _load(self, first: int, lanes: int) -> VReg:
        """Record the load of a register of the other group; before the third, the rounds that go
        beside the first two.
        """
        if self.asked == 2:
            with self.b.stream("cipher", lean=False):
                self._rounds(FIRST)
                self._longer()
        self.asked += 1
        return load_block(self.b, self.text.kernel.hash, self.at, BLOCK_BYTES * first, "C", lanes)

    def _rounds(self, rounds: range) -> None:
        for i in rounds:
            round_at(self.b, self.keys, self.states, self.i, i)

    def _longer(self) -> None:
        """Record the rounds that only longer keys have."""
        less = LEAST_ROUNDS
        for more in MORE_ROUNDS:
            self.b.branch("below", self.end, self.keys.apart * more, "shorter")
            self._rounds(range(FIRST.stop, FIRST.stop + more - less))
            step(self.b, self.keys, self.i, more - less)
            less = more
        self.b.label("shorter")


@dataclass
class Behind:
    """The last group of an encryption, which is hashed beside AES of the rest."""

    text: Text
    at: VReg
    waits: VReg
    """1 if there is one, otherwise 0."""

    @classmethod
    def nothing(cls, text: Text) -> "Behind":
        """Record that there is none yet."""
        b = text.b
        at = b.gpr("gpr_copy", text.source, note="what is hashed")
        return cls(text, at, b.gpr("gpr_const", 0, note="nothing waits for GHASH"))

    def hash(self, X: VReg) -> None:
        """Record its GHASH, if it waits. X counts once."""
        text, b, kernel = self.text, self.text.b, self.text.kernel
        b.branch("equal", self.waits, 0, "behind")
        sums, size = Sums(b, kernel), text.group_bytes
        sums.clear()
        i = b.gpr("gpr_const", 0, note="place of two registers and their powers")
        with b.loop("two"):
            A, keys = product(text, self.at, 0, i)
            A = b.xor(A, X, "A = X + C")
            b.emit("zero", X, note="X counts once")
            sums.add((A, keys), product(text, self.at, 1, i))
            b.assign(i, b.gpr("gpr_add", i, size // kernel.registers * 2))
            b.branch("below", i, size, "two")
        b.assign(X, sums.reduced(key_sum(kernel.hash, text.context, kernel.blocks)))
        b.label("behind")


def whole_groups(text: Text, X: VReg, way: Way, behind: Behind) -> None:
    """Record a text's whole groups, of which there is one at least; the last may stay `behind`."""
    b, kernel, size, at = text.b, text.kernel, text.group_bytes, behind.at
    states = [b.register("state", kernel.lane_count) for _ in range(kernel.registers)]
    numbers = Numbers(text)
    way.decrypts(GROUP)
    b.assign(at, text.out)
    b.assign(behind.waits, b.gpr("gpr_const", 1, note="a group waits for GHASH"))
    numbers.put(states)
    last = rounds_from(b, text.keys, states, first_index(b, text.keys), "first", count=1)
    text.write(states, key=last)
    text.advance(size, "next group")
    b.branch("below", text.length, size, "done")
    with b.loop(GROUP):
        _Group(text, X, at, states, numbers).record()
        text.move(at, size)
        text.advance(size, "next group")
        b.branch("not_below", text.length, size, GROUP)
    b.label("done")
    numbers.resume()
