"""Whole groups in wide registers (AVX-512): the cipher of one, and beside it GHASH of one.

Encryption hashes a group beside the cipher of the next one, from the registers that produced it: to
read 64 bytes back that were just written across a cache line takes long. So that a group and the
states of the next fit, large groups go through the cipher in two halves (`plan.half`). Decryption
hashes a group beside its own cipher.
"""

from collections.abc import Callable

from ghashgen.ir.program import VReg
from ghashgen.kernels.aes.cipher import rounds
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.gcm.parts.plan import half
from ghashgen.kernels.gcm.parts.text import Text, stream
from ghashgen.kernels.hash.parts.group import add_group, group_keys
from ghashgen.kernels.hash.parts.interface import to_register

Cipher = Callable[[list[VReg]], list[VReg]]
"""Records all rounds but the last of counter blocks."""


def held_keys(kernel: GcmKernel, encrypts: bool) -> int:
    """Return how many round keys stay in registers. Encryption has a group there, beside the states
    of the next and its hash.
    """
    if not (encrypts and kernel.instruction_set.partial_registers):
        return kernel.held_keys
    taken = kernel.registers + (half(kernel.registers) or kernel.registers)
    taken += 3 + 2 * len(kernel.hash.multiplier.accumulators)
    return max(0, min(kernel.held_keys, kernel.instruction_set.vector_registers - taken))


class Groups:
    """The whole groups of a text, with X continued over its ciphertext."""

    def __init__(self, text: Text, X: VReg, encrypts: bool) -> None:
        self.text, self.X, self.encrypts = text, X, encrypts
        b, kernel = text.b, text.kernel
        self._keys = group_keys(b, kernel.hash, text.context)
        self._kept = [b.register(f"C_{i + 1}", kernel.lane_count) for i in range(kernel.registers)]

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
            self.cipher()
        self.text.advance(self.text.group_bytes, "next group")
