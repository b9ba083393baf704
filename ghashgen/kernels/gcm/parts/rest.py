"""Less than a group of a compact kernel's text: where it stands, how it is hashed, and the cipher
of as many registers as it fills.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.ir.program import VReg
from ghashgen.kernels.gcm.parts.sums import Contributions, Sums, moved
from ghashgen.kernels.gcm.parts.text import Text
from ghashgen.kernels.gcm.parts.ways import Way
from ghashgen.kernels.hash.parts.interface import entries, to_register


@dataclass
class Rest:
    """Less than a group, and how it is hashed."""

    text: Text
    way: Way
    X: VReg
    sums: Sums
    key_at: VReg
    """The place of the next block's power, in the first array."""

    def chosen(self, name: str, given: VReg, written: Callable[[], VReg]) -> VReg:
        """Return what is read or, encrypting, what is written."""
        b = self.text.b
        C = b.variable(given, "C")
        self.way.decrypts(name)
        b.assign(C, written())
        b.label(name)
        return C

    def hash(self, C: VReg) -> None:
        """Add the products of a register or a block."""
        self.sums.take([self.products(C)])

    def products(self, C: VReg, at: int = 0) -> Contributions:
        """Record the products of a register or a block, whose powers are `at` bytes further on. X
        is only added in front.
        """
        b, hashing = self.text.b, self.text.kernel.hash
        A = to_register(b, hashing, C, "C")
        if not at:
            A = b.xor(A, self.X, "A = X + C")
            b.emit("zero", self.X, note="X counts once")
        return self.sums.products(A, moved(entries(hashing, self.key_at, hashing.layout.top), at))

    def advance(self, size: int) -> None:
        """Step over so many bytes, and their powers."""
        self.text.move(self.key_at, size, "the next powers")
        self.text.advance(size)


def filled(
    text: Text,
    name: str,
    E: Sequence[VReg],
    starts: Sequence[int],
    record: Callable[[Sequence[VReg]], None],
) -> None:
    """Record something for as many registers of E as the text fills, or for all of them: for those
    up to each of `starts`, and then for pairs.
    """  # fmt: skip
    b, size = text.b, BLOCK_BYTES * text.kernel.lane_count
    with b.part(name):
        for first, end in pairwise([0, *starts, *range(starts[-1] + 2, len(E) + 1, 2)]):
            record(E[first:end])
            if end < len(E):
                b.branch("below", text.length, end * size + 1, "done")
        b.label("done")


def counted(text: Text, E: Sequence[VReg], states: Sequence[VReg]) -> list[tuple[VReg, VReg]]:
    """Record the counter blocks of some registers of E; return each register with its blocks."""
    first = E.index(states[0])
    blocks = text.counters.last_blocks(first + len(states), first)
    return list(zip(states, blocks, strict=True))


def ended(text: Text, E: Sequence[VReg], key: VReg) -> None:
    """Record the last round of as many registers as the text fills."""

    def end(states: Sequence[VReg]) -> None:
        for state in states:
            text.b.assign(state, text.b.aes_last(state, key, "keystream"))

    filled(text, "last", E, (1, 2), end)
