"""The tag, in place of the state: (X + lengths)·H + E_K(J_0), J_0 being a counter block's first."""

from ghashgen.ir.builder import Builder
from ghashgen.ir.program import Mem
from ghashgen.kernels.aes.cipher import add_text
from ghashgen.kernels.gcm.parts.lengths import length_block
from ghashgen.kernels.given.kernel import GivenKernel
from ghashgen.kernels.given.sizes import rounds
from ghashgen.kernels.given.taken import function, given
from ghashgen.kernels.hash.parts.interface import load_state, times_h, to_register
from ghashgen.kernels.memory import BYTE_SWAP

_IV = (1 << 128) - (1 << 32)
"""The bits of a counter block, its bytes reversed, that are no number."""


def build(b: Builder, kernel: GivenKernel) -> None:
    """Record the function of this kernel."""
    at, sized = given(b, kernel, "final"), kernel.sized(256)
    counter = b.and_const(b.load(Mem(base=at["first_counter"]), "counter"), _IV, "iv", "IV")
    J0 = b.xor(counter, b.const(1, "one"), "J_0, bytes reversed")
    J0 = b.shuffle_bytes(J0, b.const(BYTE_SWAP, "byte_swap"), "J_0")
    state, last = rounds(b, kernel, at["schedule"], J0)
    lengths = length_block(b, sized, at["aad_length"], at["length"])
    A = b.xor(load_state(b, kernel.hash, at["state"]), lengths, "A = X + lengths")
    hashed = to_register(b, kernel.hash, times_h(b, kernel.hash, at["table"], A), "as in memory")
    b.store(Mem(base=at["state"]), add_text(b, state, last, hashed, "the tag"), "the tag")


FUNCTION = function("final", 60, "make the tag of the state and the lengths, in its place", build)
