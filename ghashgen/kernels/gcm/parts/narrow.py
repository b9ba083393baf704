"""A text of few blocks on one straight path, in registers of one block and without byte masks.

m blocks of text, the last of r bytes (1..16), m + 2 powers of H:

    cipher    J_0       J_0 + 1 … J_0 + m
    hash      S         C_1 … C_m              the block of lengths
    power     H^(m+2)   H^(m+1) … H^2          H

`short` has the same sum in registers of several lanes. Each m has code of its own, up to the sums:
S and the lengths wait for no cipher. A text of two blocks or more ends in a whole load and a whole
store of its last 16 bytes, d = 16 - r of which belong to the block before:

    read      bytes d … 15 of them, zeros after them
    written   the last d bytes of C_(m-1), then the r of C_m

so that d bytes are written twice, with the same values. A shorter text is one block, whole or not
(`partial`). What is read twice is read before any of it is written: the two texts may be one.
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
"""A permutation of bytes. Read at 16 - d, byte j is byte j - d, modulo 16; at 16 + d, byte j + d
or zero."""

ONES = b"\xff" * BLOCK_BYTES + bytes(BLOCK_BYTES) + b"\xff" * BLOCK_BYTES
"""Read at d: ones in the first 16 - d bytes; at 16 + d: in the others."""


def most_blocks(kernel: GcmKernel) -> int:
    """Return the blocks of the longest text: the table has no more powers than a group."""
    return kernel.blocks - 2


class Narrow:
    """What the paths share: the registers that they end with."""

    def __init__(self, text: Text, S: VReg, lengths: VReg, encrypts: bool) -> None:
        self.text, self.S, self.lengths, self.encrypts = text, S, lengths, encrypts
        self.b, self.kernel = text.b, text.kernel
        b, names = self.b, text.kernel.hash.multiplier.accumulators
        self.acc = {name: b.register(name) for name in names}
        self.mask = b.register("E_K(J_0)")
        R = key_sum(self.kernel.hash, text.context, self.kernel.layout.top)
        self.R = None if R is None else b.register("R")

    def none(self) -> None:
        """Record the way of no text."""
        sums = self._ends(0)
        self._done(self._states(0)[0], sums)

    def partial(self) -> None:
        """Record the way of 1 to 15 bytes."""
        b, text = self.b, self.text
        raw = load_partial(b, text.source, text.length, "padded", forget=True)
        at = b.gpr("gpr_address", b.const_bytes(ONES, "ones"))
        d = b.gpr("gpr_neg", text.length, note="d - 16")
        ones = Mem(base=at, index=d, disp=BLOCK_BYTES)
        sums = self._ends(1)
        mask, state = self._states(1)
        written = self._written(state, raw)
        C = b.and_(written, ones, "zero-padded") if self.encrypts else raw
        self._done(mask, self._add_block(sums, C, 2))
        store_partial(b, b.gpr("gpr_copy", text.out), text.length, written)

    def one(self) -> None:
        """Record the way of one whole block."""
        b, text = self.b, self.text
        raw = b.load(text.at(text.source), "text")
        sums = self._ends(1)
        mask, state = self._states(1)
        written = self._written(state, raw)
        b.store(text.at(text.out), written, "written")
        self._done(mask, self._add_block(sums, written if self.encrypts else raw, 2))

    def several(self, blocks: int) -> None:
        """Record the way of so many blocks, 2 at least."""
        b, text = self.b, self.text
        d = b.gpr("gpr_and", b.gpr("gpr_neg", text.length), BLOCK_BYTES - 1, note="d = 16 - r")
        turned = b.gpr("gpr_address", b.const_bytes(TURNED, "turned"))
        ones = b.gpr("gpr_address", b.const_bytes(ONES, "ones"))
        end = b.load(text.last_bytes(text.source), "the last 16 bytes")
        order = Mem(base=turned, index=d, disp=BLOCK_BYTES)
        raw = b.shuffle_bytes(end, order, "the last block, zero-padded")
        sums = self._ends(blocks)
        if not self.encrypts:
            sums = self._read(sums, blocks - 1, blocks + 1)
            sums = self._add_block(sums, raw, 2)
        mask, *states = self._states(blocks)
        outs = self._write(states[:-1])
        last = self._written(states[-1], raw)
        others = Mem(base=ones, index=d, disp=BLOCK_BYTES)
        changed = b.and_(b.xor(last, outs[-1]), others, "behind r bytes")
        joined = b.xor(last, changed, "r bytes of the last block, then d of the one before")
        back = Mem(base=b.gpr("gpr_minus", turned, d), disp=BLOCK_BYTES)
        b.store(text.last_bytes(text.out), b.shuffle_bytes(joined, back), "the last 16 bytes")
        if self.encrypts:
            padded = b.and_(last, Mem(base=ones, index=d), "zero-padded")
            for i, C in enumerate([*outs, padded]):
                sums = self._add_block(sums, C, blocks + 1 - i)
        self._done(mask, sums)

    def _states(self, blocks: int) -> list[VReg]:
        """Record all rounds but the last, of J_0 and the counters of so many blocks."""
        counters = self.text.counters
        return rounds(self.b, self.text.keys, [counters.first, *counters.following(blocks)])

    def _written(self, state: VReg, raw: Value) -> VReg:
        return add_text(self.b, state, self.text.keys.last(1), raw, "other text")

    def _write(self, states: Sequence[VReg]) -> list[VReg]:
        """Record whole blocks from the beginning of the text; return what is written."""
        text, outs = self.text, []
        for i, state in enumerate(states):
            outs.append(self._written(state, text.at(text.source, BLOCK_BYTES * i)))
            self.b.store(text.at(text.out, BLOCK_BYTES * i), outs[-1], "written")
        return outs

    def _ends(self, blocks: int) -> dict[str, Value]:
        """Record the products of S and of the lengths, so many blocks of text between them."""
        if self.R is not None:
            R = key_sum(self.kernel.hash, self.text.context, blocks + 2)
            assert R is not None
            self.b.assign(self.R, self.b.load(R, "the key terms of H^(m+2) … H"))
        return self._add(self._add({}, self.S, blocks + 2), self.lengths, 1)

    def _read(self, sums: dict[str, Value], blocks: int, power: int) -> dict[str, Value]:
        """Record the products of so many blocks of the input, from this power down."""
        for i in range(blocks):
            at = self.text.at(self.text.source, BLOCK_BYTES * i)
            sums = self._add_block(sums, self.b.load(at, "text"), power - i)
        return sums

    def _done(self, mask: VReg, sums: Mapping[str, Value]) -> None:
        """Record what a path ends with."""
        b = self.b
        b.assign(self.mask, b.aes_last(mask, self.text.keys.last(1), "E_K(J_0)"))
        for name, register in self.acc.items():
            b.assign(register, sums[name])

    def _add_block(self, sums: dict[str, Value], C: VReg, power: int) -> dict[str, Value]:
        return self._add(sums, to_register(self.b, self.kernel.hash, C, "C"), power)

    def _add(self, sums: dict[str, Value], A: VReg, power: int) -> dict[str, Value]:
        hashing = self.kernel.hash
        key = entries(hashing, self.text.context, power)
        return aggregate.accumulate(self.b, hashing.multiplier, hashing.bit_order, sums, A, key)


def narrow_text(text: Text, S: VReg, lengths: VReg, encrypts: bool) -> tuple[VReg, VReg]:
    """Record a text of at most `most_blocks`; return GHASH of the message, and E_K(J_0)."""
    b, kernel = text.b, text.kernel
    narrow, most = Narrow(text, S, lengths, encrypts), most_blocks(kernel)
    if most:
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
    """Record S = X + a block of 1 to 16 bytes, zero-padded; ends at `done`, or falls to it."""

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
