"""AES (FIPS 197, section 5.1) on several registers side by side, and its round keys in the context.

The text joins the last round key before it is added, while the rounds still run:
E(S) + P = ShiftRows(SubBytes(S)) + (k_Nr + P).
"""

from collections.abc import Sequence

from ghashgen.ir.builder import Builder, Value
from ghashgen.ir.program import Mem, VReg
from ghashgen.kernels.gcm.kernel import ENTRY_BYTES, ROUND_KEYS, GcmKernel


def round_key_cell(kernel: GcmKernel, context: VReg, i: int) -> Mem:
    """Return where the context holds k_i."""
    at = kernel.layout.arrays[ROUND_KEYS] + ENTRY_BYTES * i
    return Mem(base=context, disp=at, align=ENTRY_BYTES)


def round_key(b: Builder, kernel: GcmKernel, context: VReg, i: int, lanes: int) -> VReg:
    """Load k_i into every lane."""
    return b.load_spread(round_key_cell(kernel, context, i), lanes, f"k_{i}")


def rounds(b: Builder, kernel: GcmKernel, context: VReg, blocks: Sequence[VReg]) -> list[VReg]:
    """Record k_0 and all rounds but the last, of registers of as many lanes."""
    lanes = b.lanes_of(blocks[0])
    first = round_key(b, kernel, context, 0, lanes)
    states = [b.xor(block, first, "+ k_0") for block in blocks]
    for i in range(1, kernel.rounds):
        key = round_key(b, kernel, context, i, lanes)
        states = [b.aes_round(state, key, f"round {i}") for state in states]
    return states


def last_key(b: Builder, kernel: GcmKernel, context: VReg, lanes: int) -> VReg:
    """Load k_Nr into every lane."""
    return round_key(b, kernel, context, kernel.rounds, lanes)


def add_text(b: Builder, state: VReg, key: VReg, text: Value, note: str) -> VReg:
    """Record the last round, the text added: E + P."""
    return b.aes_last(state, b.xor(key, text, "k_Nr + text"), note)
