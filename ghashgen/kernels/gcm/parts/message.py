"""A message in one call, up to its text: phases in sequence, each with its own loops.

Live between phases: X, the counter, E_K(J_0) and the caller's arguments. The lengths do not change,
since the length block comes last.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.ir.builder import Builder
from ghashgen.ir.program import Label, Mem, VReg
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.gcm.parts.cipher import RoundKeys
from ghashgen.kernels.gcm.parts.counters import Counters
from ghashgen.kernels.gcm.parts.lengths import length_block
from ghashgen.kernels.gcm.parts.narrow import assign_last, narrow_text
from ghashgen.kernels.gcm.parts.short import Short, most_bytes
from ghashgen.kernels.gcm.parts.start import (
    FIRST,
    IV_BYTES,
    first_counter,
    hashed_counter,
    number_one,
    twelve_bytes,
)
from ghashgen.kernels.gcm.parts.straight import straight_text
from ghashgen.kernels.gcm.parts.tag import finish_tag, keep_mask
from ghashgen.kernels.gcm.parts.text import Text
from ghashgen.kernels.hash.parts.absorb import Message as Hashed
from ghashgen.kernels.hash.parts.absorb import absorb, state_of
from ghashgen.kernels.hash.parts.exact import load_few
from ghashgen.kernels.hash.parts.interface import times_h, to_register


@dataclass(frozen=True)
class Message:
    """The caller's arguments: addresses and numbers of bytes."""

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
        """Record everything before the text; return the state, and the text to come."""
        b, kernel = self.b, self.kernel
        with b.part("iv"):
            J0 = first_counter(b, kernel, self.context, self.iv, self.iv_length)
        keep_mask(b, kernel, self.context, J0)
        counters = Counters(b, kernel, self._in_every_lane(J0), first=1, kept=False)
        X = state_of(b, kernel.hash, b.zero("X"))
        with b.part("aad"):
            left = b.gpr("gpr_copy", self.aad_length)
            X = absorb(Hashed(b, kernel.hash, self.context, self.aad, left), X, "done")
        return X, self._text(counters)

    def begin_straight(self) -> tuple[VReg, Counters]:
        """Record everything before the text for the straight paths (`narrow`, `ending`).

        Returns S, and counter blocks from J_0 on. A 96-bit IV with AAD of one block takes no loop.
        Other lengths end in the same registers.
        """
        b, kernel = self.b, self.kernel
        S, J0 = b.register("S"), b.register("J_0")
        b.branch("not_equal", self.iv_length, IV_BYTES, "other")
        b.assign(J0, number_one(b, self.iv))
        b.emit("jump", Label("counter"))
        b.label("other")
        with b.part("iv"):
            b.assign(J0, hashed_counter(b, kernel, self.context, self.iv, self.iv_length))
        b.label("counter")
        start = None
        if kernel.instruction_set.partial_registers:
            # Before the AAD, so that every path writes upper halves.
            start = Counters(b, kernel, self._in_every_lane(J0), kept=False)
        self._assign_state(S)
        return S, start or Counters(b, kernel, self._in_every_lane(J0), first=1, kept=False)

    def _begin_short(self, short: Callable[[VReg, VReg], None]) -> tuple[VReg, VReg]:
        """Record everything before the text. `short`, given S and IV || 0, records short messages.

        Only a message with a 96-bit IV can be short: other IVs do not give counter blocks by sums.
        Both arguments are in every lane. Returns S, and J_0 in every lane, for all other messages.
        """
        b, kernel, lanes = self.b, self.kernel, self.kernel.lane_count
        S, J0 = b.register("S"), b.register("J_0 in every lane", lanes)
        b.branch("not_equal", self.iv_length, IV_BYTES, "other")
        iv = self._in_every_lane(twelve_bytes(b, self.iv), "IV || 0")
        self._assign_state(S)
        b.branch("not_below", self.length, most_bytes(kernel) + 1, "long")
        short(S, iv)
        b.label("long")
        b.assign(J0, b.or_(iv, b.const_lanes([FIRST] * lanes, "first_numbers"), "IV || 1"))
        b.emit("jump", Label("begun"))
        b.label("other")
        with b.part("iv"):
            hashed = hashed_counter(b, kernel, self.context, self.iv, self.iv_length)
            b.assign(J0, self._in_every_lane(hashed))
            self._assign_state(S)
        b.label("begun")
        return S, J0

    def _assign_state(self, S: VReg) -> None:
        """Record S, the AAD's hash before its last product."""
        b, kernel = self.b, self.kernel
        b.branch("not_below", self.aad_length, BLOCK_BYTES + 1, "more")
        b.emit("zero", S)
        b.branch("equal", self.aad_length, 0, "text")
        if kernel.instruction_set.partial_registers:
            b.assign(S, self._padded(self.aad, self.aad_length))
        else:
            assign_last(b, kernel, S, None, self.aad, self.aad_length, "text")
        b.emit("jump", Label("text"))
        b.label("more")
        with b.part("aad"):
            b.assign(S, self._but_one_product())
        b.label("text")

    def _in_every_lane(self, block: VReg, name: str = "J_0") -> VReg:
        lanes = self.kernel.lane_count
        return block if lanes == 1 else self.b.spread_lane(block, lanes, f"{name} in every lane")

    def _padded(self, source: VReg, length: VReg) -> VReg:
        """Load a block of 1 to 16 bytes in register form."""
        b = self.b
        raw = load_few(b, "padded", Mem(base=source), length, range(1, BLOCK_BYTES + 1))
        return to_register(b, self.kernel.hash, raw, "AAD")

    def _but_one_product(self) -> VReg:
        """Return the hash of AAD of more than a block, before its last product."""
        b, kernel = self.b, self.kernel
        last = b.gpr("gpr_and", b.gpr("gpr_sub", self.aad_length, 1), BLOCK_BYTES - 1)
        last = b.gpr("gpr_add", last, 1, note="bytes of the last block")
        left = b.gpr("gpr_minus", self.aad_length, last, note="bytes before it")
        at = b.gpr("gpr_address", Mem(base=self.aad, index=left), note="the last block")
        # Other kernels keep code for a partial block here. It never runs.
        whole = kernel.instruction_set.partial_registers
        message = Hashed(b, kernel.hash, self.context, self.aad, left, whole)
        X = absorb(message, state_of(b, kernel.hash, b.zero("X")), "absorbed")
        if kernel.instruction_set.partial_registers:
            return b.xor(X, self._padded(at, last), "S = X + the last block")
        with b.part("last"):
            S = b.register("S")
            assign_last(b, kernel, S, X, at, last, "added")
            b.label("added")
        return S

    def wide(self, short: Callable[[VReg], None], encrypts: bool) -> VReg:
        """Record a message for kernels that can fill registers partly; return its tag.

        `short` gets the tag of a short message, and records its end.
        """
        b, kernel = self.b, self.kernel
        if kernel.short:
            S, J0 = self._begin_short(lambda S, iv: short(self._in_registers(S, iv, encrypts)))
            text = self._text(Counters(b, kernel, J0, first=1, kept=False))
        else:
            S, start = self.begin_straight()
            text = self._text(start)
            (J0,) = start.last_blocks(1)
            start.skip(1)
        b.buffer(1)
        lengths = partial(length_block, b, kernel, self.aad_length, self.length)
        return straight_text(text, S, J0, lengths, encrypts)

    def _in_registers(self, S: VReg, iv: VReg, encrypts: bool) -> VReg:
        """Record a text of at most `most_bytes` in wide registers; return the tag."""
        b, kernel = self.b, self.kernel
        lengths = length_block(b, kernel, self.aad_length, self.length)
        given = self.context, self.source, self.length, self.out
        with b.part("short"):
            return Short(b, kernel, *given, iv, S, lengths, encrypts).record()

    def narrow(self, S: VReg, start: Counters, encrypts: bool) -> VReg:
        """Record a text of at most `most_bytes` in narrow registers; return the tag."""
        b, kernel, context = self.b, self.kernel, self.context
        keys = RoundKeys(b, kernel, context)
        text = Text(b, kernel, context, keys, start, self.source, self.out, self.length)
        lengths = length_block(b, kernel, self.aad_length, self.length)
        with b.part("short"):
            X, mask = narrow_text(text, S, lengths, encrypts)
        return b.xor(to_register(b, kernel.hash, X, "as in memory"), mask, "the tag")

    def long(self, S: VReg, start: Counters) -> tuple[VReg, Text]:
        """Record everything before a longer text in narrow registers; return the state and the
        text.
        """
        b, kernel = self.b, self.kernel
        keep_mask(b, kernel, self.context, b.first_lane(start.first))
        X = b.variable(times_h(b, kernel.hash, self.context, S), "X")
        return X, self._text(start)

    def _text(self, counters: Counters) -> Text:
        b = self.b
        left, out = b.gpr("gpr_copy", self.length), b.gpr("gpr_copy", self.out)
        return Text.at_entry(b, self.kernel, self.context, counters, self.source, out, left)

    def tag(self, X: VReg) -> VReg:
        """Record the tag from the state after the text."""
        lengths = length_block(self.b, self.kernel, self.aad_length, self.length)
        return finish_tag(self.b, self.kernel, self.context, X, lengths)
