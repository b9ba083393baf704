"""A text of few blocks, on one straight path: one pass of the cipher, one sum, one reduction.

m blocks of text, the last perhaps partial, in R registers of L lanes, m + 2 <= R·L:

    lane             0        1 … m                      m + 1
    cipher           J_0      J_0 + 1 … J_0 + m          (nobody reads it)
    hash             S        C_1 … C_m                  the block of lengths
    power            H^(m+2)  H^(m+1) … H^2              H

S is what the AAD comes to but for its last multiplication: its last block, added to the state of
those before; 0 without AAD. So the lane that enciphers J_0 and hashes no text hashes the AAD, the
lane behind the text the lengths, and powers lie in the table as lanes do. Text is read and written
under byte masks, 16 bytes before its place, since its first block is in lane 1.

Only S and C_1 … C_m have to be waited for, and only C for the cipher.
"""

from collections.abc import Mapping

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.schemes import aggregate
from ghashgen.ir.builder import Value
from ghashgen.ir.program import Label, Mem, VReg
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.gcm.parts.cipher import add_text, rounds
from ghashgen.kernels.gcm.parts.narrow import most_blocks
from ghashgen.kernels.gcm.parts.text import Text
from ghashgen.kernels.hash.parts.interface import entries, finish_group, key_sum, to_register

MOST_REGISTERS = 5
"""Of a straight path: each number of them has code of its own."""


def most_registers(kernel: GcmKernel) -> int:
    """Return the registers of the longest text: the table has no more powers than a group."""
    return min(kernel.registers, MOST_REGISTERS)


def most_bytes(kernel: GcmKernel) -> int:
    """Return the bytes of the longest text."""
    if not kernel.instruction_set.masked:
        return BLOCK_BYTES * most_blocks(kernel)
    return BLOCK_BYTES * (most_registers(kernel) * kernel.lane_count - 2)


class Short:
    """What the paths share: masks, the place of the powers, and the sums that they end with."""

    def __init__(self, text: Text, S: VReg, lengths: VReg, encrypts: bool) -> None:
        self.text, self.S, self.lengths, self.encrypts = text, S, lengths, encrypts
        self.b, self.kernel, self.lanes = text.b, text.kernel, text.kernel.lane_count
        b, names = self.b, text.kernel.hash.multiplier.accumulators
        # The lengths' lane, and with it all others, counts from the end of the text.
        rounded = b.gpr("gpr_and", b.gpr("gpr_address", Mem(base=text.length, disp=15)), -16)
        self.back = b.gpr("gpr_neg", rounded, note="-16·m")
        self.acc = {name: b.register(name, self.lanes) for name in names}
        self.mask = b.register("E_K(J_0)")
        R = key_sum(self.kernel.hash, text.context, self.kernel.layout.top)
        self.R = None if R is None else b.register("R")

    def path(self, count: int, done: str) -> None:
        """Record the way of a text in so many registers, up to the sums; ends at `done`."""
        b, kernel, text, lanes = self.b, self.kernel, self.text, self.lanes
        context, step = text.context, BLOCK_BYTES * lanes
        first = BLOCK_BYTES * (kernel.layout.top - 2)
        key_at = b.gpr(
            "gpr_address", Mem(base=context, index=self.back, disp=first), note="H^(m+2)"
        )
        if self.R is not None:
            R = key_sum(kernel.hash, key_at, kernel.layout.top)
            assert R is not None
            b.assign(self.R, b.load(R, "the key terms of H^(m+2) … H"))
        masks = self._masks(count)
        others = self._others(count)
        states = rounds(b, text.keys, text.counters.last_blocks(count))
        key = text.keys.last(lanes)
        sums: dict[str, Value] = {}
        for i, state in enumerate(states):
            at = step * i - BLOCK_BYTES
            place = text.at(text.source, at)
            if i in masks:
                raw = b.load_bytes(place, masks[i], "text, zero-padded", lanes)
            else:
                raw = b.load(place, "text", lanes)
            written = add_text(b, state, key, raw, "other text")
            if i == 0:
                b.assign(self.mask, b.first_lane(written), "E_K(J_0)")
            if i in masks:
                b.store_bytes(text.at(text.out, at), masks[i], written, "written")
                C = b.keep_bytes(masks[i], written, "C, zero-padded") if self.encrypts else raw
            else:
                b.store(text.at(text.out, at), written, "written")
                C = written if self.encrypts else raw
            A = to_register(b, kernel.hash, C, "C")
            if i in others:
                A = b.xor(A, others[i], "beside it: S, the lengths")
            power = entries(kernel.hash, key_at, kernel.layout.top - i * lanes)
            sums = aggregate.accumulate(
                b, kernel.hash.multiplier, kernel.hash.bit_order, sums, A, power
            )
        for name, register in self.acc.items():
            b.assign(register, sums[name])
        if count < most_registers(kernel):
            b.emit("jump", Label(done))

    def _masks(self, count: int) -> Mapping[int, VReg]:
        """Return the masks of registers that are not read and written whole."""
        b, length = self.b, self.text.length
        last, lane = count - 1, BLOCK_BYTES
        step = lane * self.lanes
        out: dict[int, VReg] = {}
        if count > 2:
            every = b.gpr("gpr_const64", (1 << 64) - (1 << lane))
            out[0] = b.mask_of(every, "all but lane 0")
            before = b.gpr("gpr_address", Mem(base=length, disp=lane - step * (last - 1)))
            out[last - 1] = b.mask_of(b.gpr("gpr_ones", before), "its bytes")
        else:
            ones = b.gpr("gpr_ones", length)
            out[0] = b.mask_of(b.gpr("gpr_shl", ones, lane), "the text, behind lane 0")
        if count > 1:
            # The last block may end before this register begins, by 15 bytes at most.
            past = b.gpr("gpr_address", Mem(base=length, disp=2 * lane - 1 - step * last))
            ones = b.gpr("gpr_shr", b.gpr("gpr_ones", past), lane - 1)
            out[last] = b.mask_of(ones, "its bytes")
        return out

    def _others(self, count: int) -> dict[int, VReg]:
        """Return what stands beside the text in registers: S in lane 0, the lengths behind it."""
        b, lanes = self.b, self.lanes
        place, size = BLOCK_BYTES * (lanes - 1), 2 * BLOCK_BYTES * lanes
        window = bytes(place) + b"\xff" * BLOCK_BYTES + bytes(size - place - BLOCK_BYTES)
        at = b.gpr("gpr_address", b.const_bytes(window, "one_lane"))
        disp = place + BLOCK_BYTES * (lanes * (count - 1) - 1)
        lane = b.spread_lane(self.lengths, lanes, "the lengths in every lane")
        lengths = b.and_(lane, Mem(base=at, index=self.back, disp=disp), "in theirs")
        if count == 1:
            return {0: b.xor(lengths, self.S, "S in lane 0")}
        return {0: self.S, count - 1: lengths}


def short_text(text: Text, S: VReg, lengths: VReg, encrypts: bool) -> tuple[VReg, VReg]:
    """Record a text of at most `most_bytes`; return GHASH of the message, and E_K(J_0)."""
    b, kernel, lanes = text.b, text.kernel, text.kernel.lane_count
    short = Short(text, S, lengths, encrypts)
    for count in range(1, most_registers(kernel) + 1):
        if count < most_registers(kernel):
            most = BLOCK_BYTES * (count * lanes - 2)
            b.branch("not_below", text.length, most + 1, f"over_{count}")
        short.path(count, "reduce")
        if count < most_registers(kernel):
            b.label(f"over_{count}")
    b.label("reduce")
    b.about("reduce")
    X = finish_group(b, kernel.hash, short.acc, short.R)
    b.about("")
    return X, short.mask
