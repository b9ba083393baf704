"""Whole groups of a compact kernel with 32 vector registers.

A group's GHASH is straight, and spread over the rounds of the cipher that every key size has. The
two rounds that 192 bits add, and the two more that 256 bits add, stand between them. The next
group's states are computed meanwhile, so the cipher never waits for them.

    round      1 … 6        7, 8    … 11           …, 13     Nr
    cipher     all sizes    longer  all sizes      longest   all sizes, with the text
    GHASH      register 3           register 4               the others, reduction

Encryption hashes a group behind: the first is only enciphered, in a loop over the rounds, and the
last only hashed. So the sum of a turn starts late: by then most of that group is in memory.
"""

from collections.abc import Sequence

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.ir.builder import Builder
from ghashgen.ir.program import VReg
from ghashgen.kernels.aes.cipher import ROUNDS as ALL_ROUNDS
from ghashgen.kernels.aes.rolled import round_at, rounds_from, second_index, step, whitened
from ghashgen.kernels.gcm.parts.text import Text
from ghashgen.kernels.gcm.parts.ways import Way
from ghashgen.kernels.hash.parts.group import add_group, group_keys
from ghashgen.kernels.hash.parts.interface import GROUP, load_block

ROUNDS = (range(1, 7), range(7, 10))
"""Rounds that every key size has, numbered as for the shortest key. Behind the first ones are two
of longer keys, behind the others two of the longest.
"""

LEAST_ROUNDS = min(ALL_ROUNDS.values())

MARGIN = 0.05
"""The part of each stretch between branches at whose ends the cipher runs alone."""


def _counted(text: Text, count: int) -> list[VReg]:
    """Record the counter blocks of so many registers, with k_0 added."""
    lanes, blocks = text.kernel.lane_count, list[VReg]()
    for _ in range(count):
        blocks.append(text.counters.partial(lanes))
        text.counters.skip(lanes)
    return whitened(text.b, text.keys, blocks)


def _begin(text: Text, states: Sequence[VReg]) -> None:
    """Record the first states of a group."""
    _take(text.b, states, _counted(text, len(states)))


def _take(b: Builder, states: Sequence[VReg], counted: Sequence[VReg]) -> None:
    for state, block in zip(states, counted, strict=True):
        b.assign(state, block)


class _Group:
    """A turn of the loop: AES of a group, and GHASH of that at `at`."""

    def __init__(self, text: Text, X: VReg, at: VReg, states: list[VReg]) -> None:
        self.text, self.b, self.keys = text, text.b, text.keys
        self.X, self.at, self.states = X, at, states
        self.following = list[VReg]()
        """The next group's states, which are computed ahead."""
        self.asked = 0

    def record(self) -> None:
        """Record the turn."""
        b, text, hashing = self.b, self.text, self.text.kernel.hash
        self.i = b.gpr("gpr_const", 0, note="place of the keys, from those of the shortest")
        self.end = self.keys.end()
        with b.stream("hash", start=MARGIN, end=1 - MARGIN, lean=False):
            keys = group_keys(b, hashing, text.context)
            hashed = add_group(b, hashing, text.context, self.X, self.at, keys, load=self._load)
            b.assign(self.X, hashed)
        self._stretch(len(ROUNDS))
        with b.stream("cipher", lean=False):
            last = self.keys.indexed(self.i, ROUNDS[-1].stop, text.kernel.lane_count)
            text.write(self.states, key=last)
            _take(b, self.states, self.following)

    def _load(self, first: int, lanes: int) -> VReg:
        """Record the load of a register of the other group; before the second and the third, the
        rounds that go beside the register before.
        """
        if 0 < self.asked <= len(ROUNDS):
            self._rounds(self.asked - 1)
        self.asked += 1
        return load_block(self.b, self.text.kernel.hash, self.at, BLOCK_BYTES * first, "C", lanes)

    def _stretch(self, n: int) -> None:
        """Record what of the next group's states goes into a stretch."""
        wanted = len(self.states) * (n + 1) // (len(ROUNDS) + 1)
        with self.b.stream("counters", lean=False):
            self.following += _counted(self.text, wanted - len(self.following))

    def _rounds(self, n: int) -> None:
        """Record some rounds, and the two that longer keys have behind them."""
        b, keys = self.b, self.keys
        self._stretch(n)
        with b.stream("cipher", lean=False):
            for i in ROUNDS[n]:
                round_at(b, keys, self.states, self.i, i)
            b.branch("below", self.end, keys.apart * (LEAST_ROUNDS + 2 * (n + 1)), f"shorter_{n}")
            for i in range(2):
                round_at(b, keys, self.states, self.i, ROUNDS[n].stop + i)
            step(b, keys, self.i, 2)
            b.label(f"shorter_{n}")


def whole_groups(text: Text, X: VReg, way: Way) -> None:
    """Record a text's whole groups, of which there is one at least."""
    b, kernel, size = text.b, text.kernel, text.group_bytes
    at = b.gpr("gpr_copy", text.source, note="what is hashed")
    states = [b.register("state", kernel.lane_count) for _ in range(kernel.registers)]
    _begin(text, states)
    way.decrypts(GROUP)
    b.assign(at, text.out)
    last = rounds_from(b, text.keys, states, second_index(b, text.keys, states), "first")
    text.write(states, key=last)
    text.advance(size, "next group")
    _begin(text, states)
    b.branch("below", text.length, size, "last")
    with b.loop(GROUP):
        _Group(text, X, at, states).record()
        text.move(at, size)
        text.advance(size, "next group")
        b.branch("not_below", text.length, size, GROUP)
    way.decrypts("behind")
    b.label("last")
    keys = group_keys(b, kernel.hash, text.context)
    b.assign(X, add_group(b, kernel.hash, text.context, X, at, keys))
    b.label("behind")
    text.counters.back(kernel.registers)
