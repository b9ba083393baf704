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
from ghashgen.kernels.aes.cipher import RoundKeys
from ghashgen.kernels.aes.counters import Counters
from ghashgen.kernels.aes.groups import crypt
from ghashgen.kernels.bytes.exact import load_few
from ghashgen.kernels.bytes.load import load_partial
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.gcm.parts.directions import decrypt_text, encrypt_text
from ghashgen.kernels.gcm.parts.few import most_bytes, narrow, short
from ghashgen.kernels.gcm.parts.groups import held_keys
from ghashgen.kernels.gcm.parts.lengths import length_block
from ghashgen.kernels.gcm.parts.start import (
    FIRST,
    IV_BYTES,
    first_counter,
    hashed_counter,
    number_one,
    twelve_bytes,
)
from ghashgen.kernels.gcm.parts.straight import wide
from ghashgen.kernels.gcm.parts.tag import finish_tag, keep_mask
from ghashgen.kernels.gcm.parts.text import Place, Text
from ghashgen.kernels.hash.parts.absorb import Message as Hashed
from ghashgen.kernels.hash.parts.absorb import absorb, state_of
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

    def record(self, short_end: Callable[[VReg], None], encrypts: bool) -> VReg:
        """Record the message; return its tag.

        `short_end` gets the tag of a short message, and records its end.
        """
        b, kernel, context = self.b, self.kernel, self.context
        lengths = partial(length_block, b, kernel, self.aad_length, self.length)
        if kernel.instruction_set.partial_registers:
            return self._wide(short_end, lengths, encrypts)
        if kernel.short:
            S, start = self._begin_straight()
            b.branch("not_below", self.length, most_bytes(kernel) + 1, "long")
            text, block = Text(*self._place(), start), lengths()
            with b.part("short"):
                tag = narrow(text, S, block, encrypts)
            short_end(tag)
            b.label("long")
            keep_mask(b, kernel, context, b.first_lane(start.first))
            X = b.variable(times_h(b, kernel.hash, context, S), "X")
            text = self._text(start)
        else:
            X, text = self._begin()
            b.branch("equal", self.length, 0, "tag")
        (encrypt_text if encrypts else decrypt_text)(text, X, "tag")
        return finish_tag(b, kernel, context, X, lengths())

    def tag_alone(self) -> tuple[VReg, VReg]:
        """Record the tag of a text that is read and not decrypted; return it, and J_0."""
        b, kernel, context = self.b, self.kernel, self.context
        with b.part("iv"):
            J0 = first_counter(b, kernel, context, self.iv, self.iv_length)
        keep_mask(b, kernel, context, J0)
        X = state_of(b, kernel.hash, self._hash_aad())
        with b.part("ciphertext"):
            source, left = b.gpr("gpr_copy", self.source), b.gpr("gpr_copy", self.length)
            X = absorb(Hashed(b, kernel.hash, context, source, left), X, "done")
        lengths = length_block(b, kernel, self.aad_length, self.length)
        return finish_tag(b, kernel, context, X, lengths), J0

    def decrypt_alone(self, J0: VReg) -> None:
        """Record the text decrypted, and not hashed."""
        b, kernel = self.b, self.kernel
        counters = Counters(b, kernel, self.in_every_lane(J0), first=1, kept=False)
        crypt(self._text(counters))

    def _wide(
        self, short_end: Callable[[VReg], None], lengths: Callable[[], VReg], encrypts: bool
    ) -> VReg:
        """Record the message for kernels that can fill registers partly; return its tag."""
        b, kernel = self.b, self.kernel

        def few(S: VReg, iv: VReg) -> None:
            block, text = lengths(), Place(*self._place())
            with b.part("short"):
                tag = short(text, iv, S, block, encrypts)
            short_end(tag)

        held = held_keys(kernel, encrypts)
        if kernel.short:
            S, J0 = self._begin_short(few)
            text = self._text(Counters(b, kernel, J0, first=1, kept=False), held)
        else:
            S, start = self._begin_straight()
            text = self._text(start, held)
            (J0,) = start.last_blocks(1)
            start.skip(1)
        b.buffer(1)
        return wide(text, S, J0, lengths, encrypts)

    def _begin(self) -> tuple[VReg, Text]:
        """Record everything before the text; return the state, and the text to come."""
        b, kernel = self.b, self.kernel
        with b.part("iv"):
            J0 = first_counter(b, kernel, self.context, self.iv, self.iv_length)
        keep_mask(b, kernel, self.context, J0)
        counters = Counters(b, kernel, self.in_every_lane(J0), first=1, kept=False)
        return self._hash_aad(), self._text(counters)

    def _hash_aad(self) -> VReg:
        b, kernel = self.b, self.kernel
        X = state_of(b, kernel.hash, b.zero("X"))
        with b.part("aad"):
            left = b.gpr("gpr_copy", self.aad_length)
            return absorb(Hashed(b, kernel.hash, self.context, self.aad, left), X, "done")

    def _begin_straight(self) -> tuple[VReg, Counters]:
        """Record everything before the text for the straight paths (`few`, `straight`).

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
            start = Counters(b, kernel, self.in_every_lane(J0), kept=False)
        self._assign_state(S)
        return S, start or Counters(b, kernel, self.in_every_lane(J0), first=1, kept=False)

    def _begin_short(self, short: Callable[[VReg, VReg], None]) -> tuple[VReg, VReg]:
        """Record everything before the text. `short`, given S and IV || 0, records short messages.

        Only a message with a 96-bit IV can be short: other IVs do not give counter blocks by sums.
        Both arguments are in every lane. Returns S, and J_0 in every lane, for all other messages.
        """
        b, kernel, lanes = self.b, self.kernel, self.kernel.lane_count
        S, J0 = b.register("S"), b.register("J_0 in every lane", lanes)
        b.branch("not_equal", self.iv_length, IV_BYTES, "other")
        iv = self.in_every_lane(twelve_bytes(b, self.iv), "IV || 0")
        self._assign_state(S)
        b.branch("not_below", self.length, most_bytes(kernel) + 1, "long")
        short(S, iv)
        b.label("long")
        b.assign(J0, b.or_(iv, b.const_lanes([FIRST] * lanes, "first_numbers"), "IV || 1"))
        b.emit("jump", Label("begun"))
        b.label("other")
        with b.part("iv"):
            hashed = hashed_counter(b, kernel, self.context, self.iv, self.iv_length)
            b.assign(J0, self.in_every_lane(hashed))
            self._assign_state(S)
        b.label("begun")
        return S, J0

    def _assign_state(self, S: VReg) -> None:
        """Record S, the AAD's hash before its last product."""
        b = self.b
        b.branch("not_below", self.aad_length, BLOCK_BYTES + 1, "more")
        b.emit("zero", S)
        b.branch("equal", self.aad_length, 0, "text")
        self._add_last(S, None, self.aad, self.aad_length, "text")
        b.emit("jump", Label("text"))
        b.label("more")
        with b.part("aad"):
            self._but_one_product(S)
        b.label("text")

    def in_every_lane(self, block: VReg, name: str = "J_0") -> VReg:
        """Record a register with the block in each of its lanes."""
        lanes = self.kernel.lane_count
        return block if lanes == 1 else self.b.spread_lane(block, lanes, f"{name} in every lane")

    def _but_one_product(self, S: VReg) -> None:
        """Record S, the hash of AAD of more than a block before its last product."""
        b, kernel = self.b, self.kernel
        last = b.gpr("gpr_and", b.gpr("gpr_sub", self.aad_length, 1), BLOCK_BYTES - 1)
        last = b.gpr("gpr_add", last, 1, note="bytes of the last block")
        left = b.gpr("gpr_minus", self.aad_length, last, note="bytes before it")
        at = b.gpr("gpr_address", Mem(base=self.aad, index=left), note="the last block")
        # Other kernels keep code for a partial block here. It never runs.
        whole = kernel.instruction_set.partial_registers
        message = Hashed(b, kernel.hash, self.context, self.aad, left, whole)
        X = absorb(message, state_of(b, kernel.hash, b.zero("X")), "absorbed")
        if whole:
            self._add_last(S, X, at, last, "added")
        else:
            with b.part("last"):
                self._add_last(S, X, at, last, "added")
                b.label("added")

    def _add_last(self, S: VReg, X: VReg | None, source: VReg, length: VReg, done: str) -> None:
        """Record S = X + a block of 1 to 16 bytes, zero-padded.

        Ends at `done`, by a jump or by falling through.
        """
        b, kernel = self.b, self.kernel

        def add(raw: VReg) -> None:
            block = to_register(b, kernel.hash, raw, "AAD")
            b.assign(S, block if X is None else b.xor(X, block, "S = X + the last block"))

        if kernel.instruction_set.partial_registers:
            add(load_few(b, "padded", Mem(base=source), length, range(1, BLOCK_BYTES + 1)))
            return
        b.branch("below", length, BLOCK_BYTES, "not_whole")
        add(b.load(Mem(base=source), "AAD, its last block"))
        b.emit("jump", Label(done))
        b.label("not_whole")
        with b.part("block"):
            block = load_partial(b, source, length, "padded", forget=True)
        add(block)

    def _place(self) -> tuple[Builder, GcmKernel, VReg, RoundKeys, VReg, VReg, VReg]:
        keys = RoundKeys(self.b, self.kernel, self.context)
        return self.b, self.kernel, self.context, keys, self.source, self.out, self.length

    def _text(self, counters: Counters, held: range | None = None) -> Text:
        b = self.b
        left, out = b.gpr("gpr_copy", self.length), b.gpr("gpr_copy", self.out)
        of = b, self.kernel, self.context, counters, self.source, out, left
        return Text.at_entry(*of, held=held)
