"""The compact flavour: one code for four functions and every key size, with little unrolled.

NAME_open is the code. NAME_seal, NAME_encrypt and NAME_decrypt enter it with another number.

A group's GHASH is straight, and spread over the rounds of the cipher that every key size has. The
two rounds that 192 bits add, and the two that 256 bits add, stand between them. If registers are
free, the next group's counter blocks are computed meanwhile, so the cipher never waits for them.

    round      1 … 4        5, 6    7 … 10         …, 12     …, Nr
    cipher     all sizes    longer  all sizes      longest   all sizes, with the text
    GHASH      register 3           register 4               the others, reduction

Encryption hashes a group behind: the first is only enciphered, in a loop over the rounds, and the
last only hashed.
"""

from collections.abc import Callable, Sequence

from ghashgen.ir.builder import Builder
from ghashgen.ir.program import VReg
from ghashgen.kernels.aes.rolled import round_at, rounds_from, second_index, step, whitened
from ghashgen.kernels.gcm.parts.compact_rest import absorbed, rest_of
from ghashgen.kernels.gcm.parts.text import Text
from ghashgen.kernels.gcm.parts.ways import Way
from ghashgen.kernels.hash.parts.group import add_group, group_keys
from ghashgen.kernels.hash.parts.interface import GROUP, load_block

ROUNDS_OF_ALL = (range(1, 5), range(5, 9), range(9, 10))
"""Rounds that every key size has, in three parts, numbered as for the shortest key. Two rounds of
longer keys follow the first part, two of the longest the second.
"""

WORKING = 14
"""Vector registers that a group takes beside its states and the next group's."""


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

    def record(self, ahead: bool) -> None:
        """Record the turn. Without `ahead` the counter blocks of this group come first."""
        b, text, hashing = self.b, self.text, self.text.kernel.hash
        self.ahead, self.i = ahead, b.gpr("gpr_const", 0, note="0, or bytes of keys between")
        self.end = self.keys.end()
        with b.stream("hash", lean=False):
            keys = group_keys(b, hashing, text.context)
            hashed = add_group(b, hashing, text.context, self.X, self.at, keys, load=self._load)
            b.assign(self.X, hashed)
        self._part(2)

    def _load(self, first: int, lanes: int) -> VReg:
        """Record the load of a register of the other group; before it, what precedes it."""
        if self.asked in (1, 2):
            self._part(self.asked - 1)
        self.asked += 1
        return load_block(self.b, self.text.kernel.hash, self.at, 16 * first, "C", lanes)

    def _part(self, n: int) -> None:
        """Record part n of the cipher, and what follows it for longer keys."""
        b, keys, text = self.b, self.keys, self.text
        count = len(self.states)
        if self.ahead:
            with b.stream("counters"):
                more = count * (n + 1) // len(ROUNDS_OF_ALL) - len(self.following)
                self.following += _counted(text, more)
        with b.stream("cipher", lean=False):
            if n == 0 and not self.ahead:
                _begin(text, self.states)
            for i in ROUNDS_OF_ALL[n]:
                round_at(b, keys, self.states, self.i, i)
            if n == 2:
                text.write(self.states, key=keys.indexed(self.i, 10, text.kernel.lane_count))
                if self.ahead:
                    _take(b, self.states, self.following)
                return
            b.branch("below", self.end, keys.apart * (12 + 2 * n), f"shorter_{n}")
            for i in (1, 2):
                round_at(b, keys, self.states, self.i, ROUNDS_OF_ALL[n][-1] + i)
            step(b, keys, self.i, 2)
            b.label(f"shorter_{n}")


def crypt_text(text: Text, X: VReg, way: Way, lengths: Callable[[], VReg]) -> None:
    """Record out = in + keystream, and X continued over the ciphertext and a message's lengths.

    Encryption hashes a group while it encrypts the next one.
    """
    b, kernel, size = text.b, text.kernel, text.group_bytes
    ahead = kernel.instruction_set.vector_registers > 2 * kernel.registers + WORKING
    b.branch("below", text.length, size, "rest")
    at = b.gpr("gpr_copy", text.source, note="what is hashed")
    states = [b.register("state", kernel.lane_count) for _ in range(kernel.registers)]
    if ahead:
        _begin(text, states)
    way.decrypts(GROUP)
    b.assign(at, text.out)
    if not ahead:
        _begin(text, states)
    last = rounds_from(b, text.keys, states, second_index(b, text.keys, states), "first")
    text.write(states, key=last)
    text.advance(size, "next group")
    if ahead:
        _begin(text, states)
    b.branch("below", text.length, size, "last")
    with b.loop(GROUP):
        _Group(text, X, at, states).record(ahead)
        text.move(at, size)
        text.advance(size, "next group")
        b.branch("not_below", text.length, size, GROUP)
    way.decrypts("behind")
    b.label("last")
    keys = group_keys(b, kernel.hash, text.context)
    b.assign(X, add_group(b, kernel.hash, text.context, X, at, keys))
    b.label("behind")
    if ahead:
        text.counters.back(kernel.registers)
    b.label("rest")
    rest_of(text, X, way, lengths)


__all__ = ["absorbed", "crypt_text"]
