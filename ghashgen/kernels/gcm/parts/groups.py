"""Whole groups in wide registers (AVX-512): the cipher of one, and beside it GHASH of one.

Encryption hashes a group beside the cipher of the next one, from the registers that produced it: to
read 64 bytes back that were just written across a cache line takes long. So that a group and the
states of the next fit, large groups go through the cipher in two halves (`plan.half`). Decryption
hashes a group beside its own cipher.
"""

from collections.abc import Callable

from ghashgen.ir.program import VReg
from ghashgen.kernels.aes.cipher import inner_rounds, rounds
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.gcm.parts.numbers import in_every_word
from ghashgen.kernels.gcm.parts.plan import half
from ghashgen.kernels.gcm.parts.text import Text, stream
from ghashgen.kernels.hash.kernel import WORKING_REGISTERS
from ghashgen.kernels.hash.parts.group import add_group, group_keys
from ghashgen.kernels.hash.parts.interface import to_register
from ghashgen.kernels.memory import BYTE_SWAP

Cipher = Callable[[list[VReg]], list[VReg]]
"""Records all rounds but the last of counter blocks."""


def keeps(kernel: GcmKernel, encrypts: bool) -> bool:
    """Return whether a text alone takes the way of `kept`."""
    return encrypts and kernel.instruction_set.partial_registers


def held_keys(kernel: GcmKernel, encrypts: bool) -> range:
    """Return which round keys stay in registers. Encryption has a group there, beside the states of
    the next and its hash. `packed` takes two registers, and needs no k_0.
    """
    free = kernel.instruction_set.vector_registers - kernel.registers - 4
    if encrypts:
        free -= half(kernel.registers) or kernel.registers
        free -= 2 * len(kernel.hash.multiplier.accumulators)
    else:
        free -= WORKING_REGISTERS - 1
    return range(1, 1 + max(0, min(kernel.held_keys, free, kernel.rounds)))


class Groups:
    """The whole groups of a text, with X continued over its ciphertext."""

    def __init__(self, text: Text, X: VReg, encrypts: bool) -> None:
        self.text, self.X, self.encrypts = text, X, encrypts
        b, kernel = text.b, text.kernel
        self._keys = group_keys(b, kernel.hash, text.context)
        self._kept = [b.register(f"C_{i + 1}", kernel.lane_count) for i in range(kernel.registers)]

    def ready(self) -> None:
        """Record what `turn` needs, behind a group."""
        text, b, lanes = self.text, self.text.b, self.text.kernel.lane_count
        key = text.keys.key(0, lanes)
        last = b.xor(text.counters.before(), key, "+ k_0")
        self._last = b.variable(last, "the last register, + k_0")
        self._key = b.variable(in_every_word(b, key, 3), "the last word of k_0 in every word")
        self._words = b.mask("mask", b.gpr("gpr_const", 0x8888), note="the last word of each lane")

    def _load(self, at: int, lanes: int) -> VReg:
        kept = self._kept[at // self.text.kernel.lane_count]
        return to_register(self.text.b, self.text.kernel.hash, kept, "C")

    def hash(self) -> None:
        """Record GHASH of a group: of the one before, which is in registers, or of what is read."""
        text, given = self.text, self._load if self.encrypts else None
        of = text.b, text.kernel.hash, text.context, self.X, text.source, self._keys
        text.b.assign(self.X, add_group(*of, load=given))

    def cipher(self, first: Cipher | None = None) -> None:
        """Record the cipher of a group. `first` records that of the first registers."""
        text, count = self.text, self.text.kernel.registers
        b, size = text.b, half(count) if self.encrypts else 0
        b.about("AES")
        for at, some in [(0, size), (size, count - size)] if size else [(0, count)]:
            blocks = text.counters.blocks(some)
            states = first(blocks) if first and not at else rounds(b, text.keys, blocks)
            for i, out in enumerate(text.write(states, first=at), at):
                if self.encrypts:
                    b.assign(self._kept[i], out)
        b.about("")

    def turn(self) -> None:
        """Record the cipher of the next group, and beside it a hash."""
        with stream(self.text, "hash"):
            self.hash()
        with stream(self.text, "cipher", lean=False):
            self.packed()
        self.text.advance(self.text.group_bytes, "next group")

    def packed(self) -> None:
        """Record the cipher of a group whose counters are made by four registers at a time.

        The words of four registers' counters fill one register. Each then takes the place of the
        last word of a lane, in a copy of the register before: the other words stay.
        """
        text, count, lanes = self.text, self.text.kernel.registers, self.text.kernel.lane_count
        b, size = text.b, half(count) if self.encrypts else 0
        b.about("AES")
        swap = b.const(BYTE_SWAP, "byte_swap")
        first = in_every_word(b, text.counters.next, 0)
        text.counters.skip(lanes * count)
        words: dict[int, VReg] = {}

        def state(i: int) -> VReg:
            four, place = divmod(i, 4)
            if four not in words:
                number = sum(lanes * (4 * four + k) << 32 * k for k in range(4))
                ahead = b.add32(first, b.const(number, f"words_{four}"), "four registers' numbers")
                turned = b.shuffle_bytes(ahead, swap, "as in memory")
                words[four] = b.xor(turned, self._key, "+ k_0")
            out = b.register("state", lanes)
            b.emit("merge_words", out, self._words, self._last, words[four], 0x55 * (3 - place))
            if i == count - 1:
                b.assign(self._last, out)
            return out

        for at, some in [(0, size), (size, count - size)] if size else [(0, count)]:
            states = inner_rounds(b, text.keys, [state(i) for i in range(at, at + some)])
            for i, out in enumerate(text.write(states, first=at), at):
                if self.encrypts:
                    b.assign(self._kept[i], out)
        b.about("")
