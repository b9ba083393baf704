"""A message in one call, up to its text: phases, one after another, each with loops of its own.

From one phase to the next live X, the counter, E_K(J_0) and what the caller gave; the lengths stay
what they were, since the block of them comes last.
"""

from dataclasses import dataclass

from ghashgen.ir.builder import Builder
from ghashgen.ir.program import VReg
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.gcm.parts.counters import Counters
from ghashgen.kernels.gcm.parts.lengths import length_block
from ghashgen.kernels.gcm.parts.start import first_counter
from ghashgen.kernels.gcm.parts.tag import finish_tag, keep_mask
from ghashgen.kernels.gcm.parts.text import Text
from ghashgen.kernels.hash.parts.absorb import Message as Hashed
from ghashgen.kernels.hash.parts.absorb import absorb, state_of


@dataclass(frozen=True)
class Message:
    """What the caller gave: addresses and numbers of bytes."""

    b: Builder
    kernel: GcmKernel
    context: VReg
    iv: VReg
    iv_length: VReg
    aad: VReg
    aad_length: VReg
    source: VReg
    length: VReg
    out: VReg

    def begin(self) -> tuple[VReg, Text]:
        """Record all that stands before the text; return the state, and the text to come."""
        b, kernel = self.b, self.kernel
        with b.part("iv"):
            J0 = first_counter(b, kernel, self.context, self.iv, self.iv_length)
        keep_mask(b, kernel, self.context, J0)
        lanes = kernel.lane_count
        every = J0 if lanes == 1 else b.spread_lane(J0, lanes, "J_0 in every lane")
        counters = Counters(b, kernel, every, behind=True)
        X = state_of(b, kernel.hash, b.zero("X"))
        with b.part("aad"):
            left = b.gpr("gpr_copy", self.aad_length)
            X = absorb(Hashed(b, kernel.hash, self.context, self.aad, left), X, "done")
        left = b.gpr("gpr_copy", self.length)
        out = b.gpr("gpr_copy", self.out)
        return X, Text.at_entry(b, kernel, self.context, counters, self.source, out, left)

    def tag(self, X: VReg) -> VReg:
        """Record the tag, of the state behind the text."""
        lengths = length_block(self.b, self.kernel, self.aad_length, self.length)
        return finish_tag(self.b, self.kernel, self.context, X, lengths)
