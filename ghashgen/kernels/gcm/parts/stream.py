"""The state of a message in pieces: 96 bytes, at any address.

    byte  0   X: GHASH of the whole blocks so far, plus the bytes of a begun block, zero-padded.
              When the block is full, or padded, only X·H is left to do
         16   the counter block of the next block of text
         32   E_K(J_0)
         48   the keystream of the begun block of text, E_K of its counter block
         64   bytes of AAD so far  ┐
         72   bytes of text so far ├ 64-bit numbers, little-endian
         80   the phase, see below ┘
         88   0

A length modulo 16 gives the bytes in the begun block, so no secret decides a branch. A zero state
cannot belong to a message: only the first call accepts it.
"""

from dataclasses import dataclass

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.ir.builder import Builder
from ghashgen.ir.program import Mem, VReg
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.gcm.parts.lengths import length_block
from ghashgen.kernels.gcm.parts.params import STATE_BYTES, STATE_PARTS
from ghashgen.kernels.gcm.parts.tag import finish_tag
from ghashgen.kernels.hash.parts.interface import load_block, store_block, times_h

_X, COUNTER, MASK, KEYSTREAM, AAD_LENGTH, TEXT_LENGTH, PHASE = (at for _, at in STATE_PARTS)
"""Offsets in the state; X is at 0."""

NONE, ASSOCIATED, TEXT = range(3)
"""Phases: no message; AAD may come, before any text; text has come."""


@dataclass(frozen=True)
class Stream:
    """A state in memory."""

    b: Builder
    kernel: GcmKernel
    context: VReg
    state: VReg

    def at(self, offset: int) -> Mem:
        """Return a place in the state."""
        return Mem(base=self.state, disp=offset)

    def number(self, offset: int, note: str) -> VReg:
        """Load a number."""
        return self.b.gpr("gpr_load64", self.at(offset), note=note)

    def set_number(self, offset: int, value: VReg, note: str) -> None:
        """Record the store of a number."""
        self.b.emit("gpr_store64", self.at(offset), value, note=note)

    def phase(self, misplaced: str) -> VReg:
        """Load the phase. Go to `misplaced` unless a message has begun."""
        b = self.b
        phase = self.number(PHASE, "the phase")
        b.branch("equal", phase, NONE, misplaced)
        b.branch("not_below", phase, TEXT + 1, misplaced)
        return phase

    def lengthen(self, offset: int, most: int, by: VReg, refused: str, done: str) -> VReg:
        """Add `by` to the length at `offset`; return the old length.

        Go to `done` if `by` is 0, and to `refused` if the sum exceeds `most`.
        """
        b = self.b
        length = self.number(offset, "bytes so far")
        limit = b.gpr("gpr_const64", most, note="bytes, at most")
        room = b.gpr("gpr_minus", limit, length, note="bytes that may come")
        b.branch("above", by, room, refused)
        b.branch("equal", by, 0, done)
        new = b.gpr("gpr_address", Mem(base=length, index=by), note="bytes after this call")
        self.set_number(offset, new, "bytes so far")
        return length

    def load_x(self) -> VReg:
        """Load X into a register that the code may assign."""
        return self.b.variable(load_block(self.b, self.kernel.hash, self.state, name="X"), "X")

    def store_x(self, X: VReg) -> None:
        """Record the store of X."""
        store_block(self.b, self.kernel.hash, self.state, X)

    def close(self, X: VReg, note: str) -> None:
        """Multiply X, with a block already added, by H."""
        self.b.about(note)
        self.b.assign(X, times_h(self.b, self.kernel.hash, self.context, X))
        self.b.about("")

    def tag(self, misplaced: str) -> VReg:
        """Record the tag of the message so far, in memory order."""
        b = self.b
        phase = self.phase(misplaced)
        aad = self.number(AAD_LENGTH, "bytes of AAD")
        text = self.number(TEXT_LENGTH, "bytes of text")
        X = self.load_x()
        last = b.gpr("gpr_copy", aad)
        b.branch("equal", phase, ASSOCIATED, "begun")
        b.assign(last, text)
        b.label("begun")
        begun = b.gpr("gpr_and", last, BLOCK_BYTES - 1, note="bytes of a begun block")
        b.branch("equal", begun, 0, "lengths")
        self.close(X, "the last block, padded")
        b.label("lengths")
        lengths = length_block(b, self.kernel, aad, text)
        return finish_tag(b, self.kernel, self.context, X, lengths, self.at(MASK))

    def erase(self) -> None:
        """Record zeros over the state."""
        zeros = self.b.zero("zeros")
        for offset in range(0, STATE_BYTES, BLOCK_BYTES):
            self.b.store(self.at(offset), zeros, "no message")
