"""A text of few blocks on one straight path, in narrow registers.

For m blocks of text, the last of r bytes (1..16), it uses m + 2 powers of H:

    cipher    J_0       J_0 + 1 … J_0 + m
    hash      S         C_1 … C_m              the length block
    power     H^(m+2)   H^(m+1) … H^2          H

`short` computes the same sum in wide registers. A register has 1 or 2 lanes. The blocks of text lie
in them as in memory. J_0 is beside the last of them if a lane is free. S is beside the lengths, and
their products wait for no cipher.

Each m has its own code up to the sums. The power that S meets depends on m; later powers are fixed
in the code. A text of two blocks or more ends in a whole load and a whole store of its last 16
bytes. The first d = 16 - r of them belong to the previous block:

    read      bytes d … 15 of them, zeros after them
    written   the last d bytes of C_(m-1), then the r of C_m

So d bytes are written twice, with the same values. A shorter text is one block, whole or not
(`partial`). Bytes that are read twice are read before any of them is written, so the two texts may
be one.
"""

from collections.abc import Mapping, Sequence

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.schemes import aggregate
from ghashgen.ir.builder import Builder, Value
from ghashgen.ir.program import Label, Mem, VReg
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.gcm.parts.cipher import add_text, rounds
from ghashgen.kernels.gcm.parts.partial import store_partial
from ghashgen.kernels.gcm.parts.text import Text
from ghashgen.kernels.hash.parts.interface import entries, finish_group, key_sum, to_register
from ghashgen.kernels.hash.parts.partial import load_partial

TURNED = 2 * bytes(range(BLOCK_BYTES)) + b"\x80" * BLOCK_BYTES
"""Byte positions. Read at 16 - d, byte j is byte j - d, modulo 16. Read at 16 + d, it is byte j +
d, or zero.
"""

ONES = b"\xff" * 2 * BLOCK_BYTES + bytes(BLOCK_BYTES) + b"\xff" * BLOCK_BYTES
"""Read at d: ones in the first 32 - d bytes. 16 bytes read at 16 + d: ones in the first 16 - d.
Read at 32 + d: ones in the others.
"""


class Narrow:
    """What the paths share: the registers that hold their results."""

    def __init__(self, text: Text, S: VReg, lengths: VReg, encrypts: bool) -> None:
        """Record the sums of S and the lengths."""
        self.text, self.encrypts = text, encrypts
        self.b, self.kernel = text.b, text.kernel
        self.lanes = self.kernel.lane_count
        b, hashing = self.b, self.kernel.hash
        top = self.kernel.layout.top
        rounded = b.gpr("gpr_and", b.gpr("gpr_address", Mem(base=text.length, disp=15)), -16)
        back = b.gpr("gpr_neg", rounded, note="-16·m")
        place = Mem(base=text.context, index=back, disp=BLOCK_BYTES * (top - 2))
        powers = b.gpr("gpr_address", place, note="H^(m+2)")
        R = key_sum(hashing, powers, top)
        self.R = None if R is None else b.variable(R, "R", "the key terms of H^(m+2) … H")
        names = hashing.multiplier.accumulators
        self.acc = {name: b.register(name, self.lanes) for name in names}
        self.mask = b.register("E_K(J_0)")
        b.about("S, lengths")
        self._assign(self._ends(S, lengths, powers))
        b.about("")

    def none(self) -> None:
        """Record the path of an empty text."""
        _, J0 = self._states(0)
        self._keep_mask(J0, self.text.keys.last(1))

    def partial(self) -> None:
        """Record the path of 1 to 15 bytes."""
        b, text = self.b, self.text
        raw = load_partial(b, text.source, text.length, "padded", forget=True)
        at = b.gpr("gpr_address", b.const_bytes(ONES, "ones"))
        d = b.gpr("gpr_neg", text.length, note="d - 16")
        ones = Mem(base=at, index=d, disp=2 * BLOCK_BYTES)
        written = self._single(raw)
        C = b.and_(written, ones, "zero-padded") if self.encrypts else raw
        self._assign(self._add_block(self.acc, C, 2))
        store_partial(b, b.gpr("gpr_copy", text.out), text.length, written)

    def one(self) -> None:
        """Record the path of one whole block."""
        b, text = self.b, self.text
        raw = b.load(text.at(text.source), "text")
        written = self._single(raw)
        b.store(text.at(text.out), written, "written")
        C = written if self.encrypts else raw
        self._assign(self._add_block(self.acc, C, 2))

    def several(self, blocks: int) -> None:
        """Record the path of `blocks` blocks, at least 2."""
        b, text, lanes = self.b, self.text, self.lanes
        whole = (blocks - 1) // lanes
        paired = blocks - whole * lanes > 1
        d = b.gpr("gpr_and", b.gpr("gpr_neg", text.length), BLOCK_BYTES - 1, note="d = 16 - r")
        turned = b.gpr("gpr_address", b.const_bytes(TURNED, "turned"))
        ones = b.gpr("gpr_address", b.const_bytes(ONES, "ones"))
        end = b.load(text.last_bytes(text.source), "the last 16 bytes")
        order = Mem(base=turned, index=d, disp=BLOCK_BYTES)
        raw = b.shuffle_bytes(end, order, "the last block, zero-padded")
        if paired:
            beside = b.load(text.at(text.source, BLOCK_BYTES * (blocks - 2)), "text")
            raw = b.insert_lane(beside, 1, raw, lanes, "and the last block, zero-padded")
        sums: Mapping[str, Value] = self.acc
        power = 3 if paired else 2
        if not self.encrypts:
            sums = self._read(sums, whole, blocks + 1)
            sums = self._add_block(sums, raw, power)
        states, J0 = self._states(blocks)
        key = text.keys.last(lanes)
        outs = self._write(states[:whole], key)
        written = add_text(b, states[whole], key, raw, "other text")
        self._keep_mask(J0, key, written)
        if paired:
            last, before = self._last_lane(written), b.first_lane(written)
            b.store(text.at(text.out, BLOCK_BYTES * (blocks - 2)), before, "written")
        else:
            last, before = b.first_lane(written), self._last_lane(outs[-1])
        others = Mem(base=ones, index=d, disp=2 * BLOCK_BYTES)
        changed = b.and_(b.xor(last, before), others, "behind r bytes")
        joined = b.xor(last, changed, "r bytes of the last block, then d of the one before")
        back = Mem(base=b.gpr("gpr_minus", turned, d), disp=BLOCK_BYTES)
        b.store(text.last_bytes(text.out), b.shuffle_bytes(joined, back), "the last 16 bytes")
        if self.encrypts:
            sums = self._add_all(sums, outs, blocks + 1)
            kept = Mem(base=ones, index=d, disp=0 if paired else BLOCK_BYTES)
            C = b.and_(written if paired else last, kept, "zero-padded")
            sums = self._add_block(sums, C, power)
        self._assign(sums)

    def _states(self, blocks: int) -> tuple[list[VReg], VReg | None]:
        """Record all rounds but the last, for the counters of `blocks` blocks and for J_0.

        J_0 takes lane 1 of the last register if that is free, and otherwise a state of its own.
        """
        counters, lanes = self.text.counters, self.lanes
        taken = counters.last_blocks(-(-blocks // lanes))
        if blocks % lanes:
            taken[-1] = self.b.insert_lane(taken[-1], 1, counters.first, lanes, "and J_0")
            return rounds(self.b, self.text.keys, taken), None
        *states, J0 = rounds(self.b, self.text.keys, [*taken, counters.first])
        return states, J0

    def _single(self, raw: VReg) -> VReg:
        """Record the cipher over one block and J_0; return the output."""
        (state,), J0 = self._states(1)
        key = self.text.keys.last(self.lanes)
        written = add_text(self.b, state, key, raw, "other text")
        self._keep_mask(J0, key, written)
        return self.b.first_lane(written)

    def _keep_mask(self, state: VReg | None, key: VReg, written: VReg | None = None) -> None:
        """Record E_K(J_0), from its own state or from lane 1 of the output."""
        b = self.b
        if state is not None:
            last = b.aes_last(b.first_lane(state), b.first_lane(key), "E_K(J_0)")
            b.assign(self.mask, last)
        elif written is not None:
            b.assign(self.mask, self._last_lane(written))

    def _last_lane(self, register: VReg) -> VReg:
        b = self.b
        if self.lanes == 1:
            return register
        out = b.register("its last lane")
        b.emit("high_half", out, register)
        return out

    def _write(self, states: Sequence[VReg], key: VReg) -> list[VReg]:
        """Record whole registers from the start of the text; return the output."""
        text, outs = self.text, []
        for i, state in enumerate(states):
            at = BLOCK_BYTES * self.lanes * i
            outs.append(add_text(self.b, state, key, text.at(text.source, at), "other text"))
            self.b.store(text.at(text.out, at), outs[-1], "written")
        return outs

    def _ends(self, S: VReg, lengths: VReg, powers: VReg) -> Mapping[str, Value]:
        """Record the products of S and of the lengths."""
        b, hashing, context = self.b, self.kernel.hash, self.text.context
        top = self.kernel.layout.top
        if self.lanes == 1:
            sums = self._accumulate({}, S, entries(hashing, powers, top))
            return self._accumulate(sums, lengths, entries(hashing, context, 1))
        keys = far_and_near(b, self.kernel, powers, context)
        A = b.insert_lane(S, 1, lengths, self.lanes, "S, the lengths")
        return self._accumulate({}, A, keys)

    def _read(self, sums: Mapping[str, Value], count: int, power: int) -> Mapping[str, Value]:
        """Record the products of `count` registers of the input, from `power` down."""
        text, lanes = self.text, self.lanes
        for i in range(count):
            raw = self.b.load(text.at(text.source, BLOCK_BYTES * lanes * i), "text", lanes)
            sums = self._add_block(sums, raw, power - lanes * i)
        return sums

    def _add_all(
        self, sums: Mapping[str, Value], blocks: Sequence[VReg], power: int
    ) -> Mapping[str, Value]:
        """Record the products of ciphertext registers, from `power` down."""
        for i, C in enumerate(blocks):
            sums = self._add_block(sums, C, power - self.lanes * i)
        return sums

    def _add_block(self, sums: Mapping[str, Value], C: VReg, power: int) -> Mapping[str, Value]:
        A = to_register(self.b, self.kernel.hash, C, "C")
        return self._accumulate(sums, A, entries(self.kernel.hash, self.text.context, power))

    def _accumulate(
        self, sums: Mapping[str, Value], A: VReg, key: Sequence[Value]
    ) -> Mapping[str, Value]:
        hashing = self.kernel.hash
        return aggregate.accumulate(self.b, hashing.multiplier, hashing.bit_order, sums, A, key)

    def _assign(self, sums: Mapping[str, Value]) -> None:
        for name, register in self.acc.items():
            self.b.assign(register, sums[name])


def far_and_near(b: Builder, kernel: GcmKernel, powers: VReg, context: VReg) -> list[Value]:
    """Record the entries of H^(m+2), where `powers` stands, and of H, one lane each."""
    far = entries(kernel.hash, powers, kernel.layout.top)
    near = entries(kernel.hash, context, 1)
    out: list[Value] = []
    for a, c in zip(far, near, strict=True):
        assert isinstance(a, Mem)
        assert isinstance(c, Mem)
        out.append(b.insert_lane(b.load(a, "H^(m+2)"), 1, b.load(c, "H"), 2, "both"))
    return out


def narrow_text(text: Text, S: VReg, lengths: VReg, encrypts: bool) -> tuple[VReg, VReg]:
    """Record a text of at most `straight` blocks; return GHASH of the message, and E_K(J_0)."""
    b, kernel = text.b, text.kernel
    narrow, most = Narrow(text, S, lengths, encrypts), kernel.hash.straight
    b.branch("below", text.length, BLOCK_BYTES, "under_block")
    for blocks in range(1, most + 1):
        if blocks < most:
            b.branch("not_below", text.length, BLOCK_BYTES * blocks + 1, f"over_{blocks}")
        if blocks == 1:
            narrow.one()
        else:
            narrow.several(blocks)
        b.emit("jump", Label("reduce"))
        if blocks < most:
            b.label(f"over_{blocks}")
    b.label("under_block")
    b.branch("equal", text.length, 0, "none")
    narrow.partial()
    b.emit("jump", Label("reduce"))
    b.label("none")
    narrow.none()
    b.label("reduce")
    b.about("reduce")
    X = finish_group(b, kernel.hash, narrow.acc, narrow.R)
    b.about("")
    return X, narrow.mask


def assign_last(
    b: Builder, kernel: GcmKernel, S: VReg, X: VReg | None, source: VReg, length: VReg, done: str
) -> None:
    """Record S = X + a block of 1 to 16 bytes, zero-padded. Ends at `done`, by a jump or by falling
    through.
    """

    def add(raw: VReg) -> None:
        block = to_register(b, kernel.hash, raw, "AAD")
        b.assign(S, block if X is None else b.xor(X, block, "S = X + the last block"))

    b.branch("below", length, BLOCK_BYTES, "not_whole")
    add(b.load(Mem(base=source), "AAD, its last block"))
    b.emit("jump", Label(done))
    b.label("not_whole")
    with b.part("block"):
        block = load_partial(b, source, length, "padded", forget=True)
    add(block)
