"""A text of few blocks, on one straight path: one pass of the cipher, one sum, one reduction.

Of m blocks of text, the last perhaps partial, in registers of L lanes, m + 2 <= L fit into one:

    lane             0        1 … m                      m + 1
    cipher           J_0      J_0 + 1 … J_0 + m          (nobody reads it)
    hash             S        C_1 … C_m                  the block of lengths
    power            H^(m+2)  H^(m+1) … H^2              H

S is what the AAD comes to but for its last multiplication: its last block, added to the state of
those before; 0 without AAD. The text is read and written under byte masks, 16 bytes before its
place. Of more text the registers lie in memory as it does, C_1 in lane 0, since a register that
begins before its place would cross a line, or a page, that the text does not. Then J_0 has a
register of its own, and S and the lengths a pair of lanes, whose products wait for no cipher.

What counts is how many vector operations wait, and how long, since calls overlap as far as the
schedulers have room for them: on a Zen 5 an operation behind the cipher costs a cycle, one that is
ready at once a quarter. So the pair's products come first, all registers go through a round
together, and each has no more behind the cipher than it must.

What is left to gain, measured on a Zen 5 with ways written by hand (AES-128, 16 to 256 B): a
register that begins before its text costs 3 to 5 cycles where the input begins a page, 17 where the
output does too. The counter blocks made before the length is known cost 2. Made of J_0 behind it,
by a swap, a sum and a swap, they cost more, since all rounds wait for them; the cheapest are sums
of IV || 0, which an IV of 96 bits alone allows. With J_0 in the last lane of a register that the
text does not fill, 33 to 48 B, 65 to 112 B and so on take a register less. The checks of lengths
cost 1 to 2 cycles up to 64 B, saved registers and the frame 1 to 3.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.schemes import aggregate
from ghashgen.ir.builder import Builder, Value
from ghashgen.ir.program import Label, Mem, VReg
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.gcm.parts.cipher import RoundKeys, add_text, rounds
from ghashgen.kernels.gcm.parts.narrow import far_and_near
from ghashgen.kernels.gcm.parts.text import IN_TEXT
from ghashgen.kernels.hash.parts.interface import (
    BYTE_SWAP,
    entries,
    finish_group,
    key_sum,
    to_register,
)

MOST_REGISTERS = 4
"""Of a straight path: each number of them has code of its own."""


def most_registers(kernel: GcmKernel) -> int:
    """Return the registers of the longest text, 0 if the table has no powers for a full one."""
    return min((kernel.blocks - 2) // kernel.lane_count, MOST_REGISTERS)


def most_bytes(kernel: GcmKernel) -> int:
    """Return the bytes of the longest text."""
    if not kernel.instruction_set.masked:
        return BLOCK_BYTES * kernel.hash.straight
    several = BLOCK_BYTES * most_registers(kernel) * kernel.lane_count
    return max(several, fits_one(kernel.lane_count))


class Blocks:
    """The counter blocks of a text as long as may be, in registers that two kinds of IV come to.

    Of an IV of 96 bits they are IV || j: one sum each, with a constant, and none waits for another.
    """

    def __init__(self, b: Builder, kernel: GcmKernel) -> None:
        self._b, self._lanes = b, kernel.lane_count
        self.J0 = b.register("J_0 in every lane", self._lanes)
        self.first = b.register("J_0 and the counter blocks", self._lanes)
        most = range(most_registers(kernel))
        self._text = [b.register("counter blocks", self._lanes) for _ in most]

    def of(self, count: int) -> list[VReg]:
        """Return those of so many registers of text, and J_0."""
        return [*self._text[:count], self.J0]

    def follow(self, iv: VReg) -> None:
        """Record them all of an IV || 0 in every lane."""
        b = self._b
        for register, ahead, name in self._all():
            numbers = [_big_endian(1 + number) for number in ahead]
            b.assign(register, b.xor(iv, b.const_lanes(numbers, f"numbers{name}"), "IV || j"))

    def count_from(self, J0: VReg) -> None:
        """Record them all of J_0 in every lane."""
        b, swap = self._b, self._b.const(BYTE_SWAP, "byte_swap")
        counter = b.shuffle_bytes(J0, swap, "counter, last word first")
        for register, ahead, name in self._all():
            sums = b.add32(counter, b.const_lanes(ahead, f"ahead{name}"), "as many blocks ahead")
            b.assign(register, b.shuffle_bytes(sums, swap, "counter blocks"))

    def _all(self) -> Iterable[tuple[VReg, Sequence[int], str]]:
        """Yield each register, how far its lanes are ahead of J_0, and what names that."""
        lanes = self._lanes
        yield self.J0, [0] * lanes, ""
        if fits_one(lanes):
            yield self.first, range(lanes), "_from_0"
        for i, register in enumerate(self._text):
            first = lanes * i + 1
            yield register, range(first, first + lanes), f"_from_{first}"


def _big_endian(number: int) -> int:
    """Return a number as it stands in the last four bytes of a block."""
    return int.from_bytes(bytes(12) + number.to_bytes(4, "big"), "little")


def fits_one(lanes: int) -> int:
    """Return the bytes of text that fit into one register with all else; 0 if no block does."""
    return BLOCK_BYTES * (lanes - 2)


@dataclass(frozen=True)
class Short:
    """A short message: where its text is, and what of the rest of it is in registers.

    `lengths` is the block of lengths, and S what it is above, both in register form.
    """

    b: Builder
    kernel: GcmKernel
    context: VReg
    source: VReg
    length: VReg
    out: VReg
    blocks: "Blocks"
    S: VReg
    lengths: VReg
    encrypts: bool

    def record(self) -> tuple[VReg, VReg]:
        """Record all of it; return GHASH of the message, and E_K(J_0)."""
        b, kernel, lanes = self.b, self.kernel, self.kernel.lane_count
        hashing = kernel.hash
        keys = RoundKeys(b, kernel, self.context)
        rounded = b.gpr("gpr_and", b.gpr("gpr_address", Mem(base=self.length, disp=15)), -16)
        back = b.gpr("gpr_neg", rounded, note="-16·m")
        first = BLOCK_BYTES * (kernel.layout.top - 2)
        powers = b.gpr(
            "gpr_address", Mem(base=self.context, index=back, disp=first), note="H^(m+2)"
        )
        acc = {name: b.register(name, lanes) for name in hashing.multiplier.accumulators}
        R = key_sum(hashing, powers, kernel.layout.top)
        terms = None if R is None else b.variable(R, "R", "the key terms of H^(m+2) … H")
        mask = b.register("E_K(J_0)")
        paths = Paths(self, keys, back, powers, acc, terms, mask)
        one, several = fits_one(lanes) > 0, most_registers(kernel) > 0
        if one and several:
            b.branch("not_below", self.length, fits_one(lanes) + 1, "over_one")
        if one:
            paths.one()
        if one and several:
            b.emit("jump", Label("reduce"))
            b.label("over_one")
        if several:
            paths.several(self._pair(powers))
        b.label("reduce")
        return finish_group(b, hashing, acc, terms), mask

    def _pair(self, powers: VReg) -> Mapping[str, Value]:
        """Record the products of the blocks beside the text: S and the lengths."""
        b, hashing = self.b, self.kernel.hash
        b.about("S, lengths")
        A = b.insert_lane(self.S, 1, self.lengths, 2, "S, the lengths")
        power = far_and_near(b, self.kernel, powers, self.context)
        sums = aggregate.accumulate(b, hashing.multiplier, hashing.bit_order, {}, A, power)
        b.about("")
        return sums


@dataclass(frozen=True)
class Paths:
    """The ways of texts, up to the sums that they end with."""

    message: Short
    keys: RoundKeys
    back: VReg
    powers: VReg
    acc: Mapping[str, VReg]
    terms: VReg | None
    mask: VReg

    def one(self) -> None:
        """Record the way of a text that fits into one register with all else."""
        message, b = self.message, self.message.b
        lanes, hashing = message.kernel.lane_count, message.kernel.hash
        ones = b.gpr("gpr_shl", b.gpr("gpr_ones", message.length), BLOCK_BYTES)
        mask = b.mask_of(ones, "the text, behind lane 0")
        beside = b.xor(self._lengths(), message.S, "S in lane 0")
        (state,) = rounds(b, self.keys, [message.blocks.first])
        place = Mem(base=message.source, disp=-BLOCK_BYTES, within=IN_TEXT)
        raw = b.load_bytes(place, mask, "text, zero-padded", lanes)
        written = add_text(b, state, self.keys.last(lanes), raw, "other text")
        b.assign(self.mask, b.first_lane(written), "E_K(J_0)")
        out = Mem(base=message.out, disp=-BLOCK_BYTES, within=IN_TEXT)
        b.store_bytes(out, mask, written, "written")
        C = b.keep_bytes(mask, written, "C, zero-padded") if message.encrypts else raw
        A = b.xor(to_register(b, hashing, C, "C"), beside, "beside it: S, the lengths")
        self._sum({}, A, message.kernel.layout.top, last=True)

    def _lengths(self) -> VReg:
        """Record the block of lengths in the lane behind the text, zeros elsewhere."""
        b, lanes = self.message.b, self.message.kernel.lane_count
        place, size = BLOCK_BYTES * (lanes - 1), 2 * BLOCK_BYTES * lanes
        window = bytes(place) + b"\xff" * BLOCK_BYTES + bytes(size - place - BLOCK_BYTES)
        at = b.gpr("gpr_address", b.const_bytes(window, "one_lane"))
        spread = b.spread_lane(self.message.lengths, lanes, "the lengths in every lane")
        return b.and_(spread, Mem(base=at, index=self.back, disp=place - BLOCK_BYTES), "in theirs")

    def several(self, pair: Mapping[str, Value]) -> None:
        """Record the ways of texts in 1, 2, … registers."""
        message = self.message
        b, most = message.b, most_registers(message.kernel)
        for count in range(1, most + 1):
            if count < most:
                bytes_ = BLOCK_BYTES * message.kernel.lane_count * count
                b.branch("not_below", message.length, bytes_ + 1, f"over_{count}")
            self._path(count, pair)
            if count < most:
                b.emit("jump", Label("reduce"))
                b.label(f"over_{count}")

    def _path(self, count: int, pair: Mapping[str, Value]) -> None:
        """Record the way of a text in so many registers."""
        message, lanes = self.message, self.message.kernel.lane_count
        b, kernel, step = message.b, message.kernel, BLOCK_BYTES * lanes
        left = message.length
        if count > 1:
            left = b.gpr("gpr_address", Mem(base=left, disp=-step * (count - 1)))
        ones = b.byte_mask(left)
        *states, J0 = rounds(b, self.keys, message.blocks.of(count))
        key = self.keys.last(lanes)
        b.assign(self.mask, b.first_lane(b.aes_last(J0, key, "E_K(J_0)")))
        sums = pair
        for i, state in enumerate(states):
            last, at = i == count - 1, step * i
            place = Mem(base=message.source, disp=at, within=IN_TEXT)
            out = Mem(base=message.out, disp=at, within=IN_TEXT)
            if last:
                raw = b.load_bytes(place, ones, "text, zero-padded", lanes)
            else:
                raw = b.load(place, "text", lanes)
            written = add_text(b, state, key, raw, "other text")
            C = written if message.encrypts else raw
            if last:
                b.store_bytes(out, ones, written, "written")
                C = b.keep_bytes(ones, written, "C, zero-padded") if message.encrypts else raw
            else:
                b.store(out, written, "written")
            A = to_register(b, kernel.hash, C, "C")
            sums = self._sum(sums, A, kernel.layout.top - 1 - i * lanes, last)
        if self.terms is not None:
            self._count_again(count)

    def _sum(
        self, sums: Mapping[str, Value], A: VReg, power: int, last: bool
    ) -> Mapping[str, Value]:
        """Record the sums with one more register, whose first lane meets H^power of the table."""
        b, hashing = self.message.b, self.message.kernel.hash
        sums = aggregate.accumulate(
            b, hashing.multiplier, hashing.bit_order, sums, A, entries(hashing, self.powers, power)
        )
        if last:
            for name, register in self.acc.items():
                b.assign(register, sums[name])
        return sums

    def _count_again(self, count: int) -> None:
        """Record the key terms of H once more, if there are lanes behind C_m: the first has H."""
        message, kernel = self.message, self.message.kernel
        b, lanes = message.b, kernel.lane_count
        R = key_sum(kernel.hash, message.context, 1)
        assert R is not None
        assert self.terms is not None
        free = b.gpr("gpr_address", Mem(base=self.back, disp=BLOCK_BYTES * lanes * count))
        again = b.load_bytes(R, b.byte_mask(free), "those of H, if a lane is free", 1)
        b.assign(self.terms, b.xor(self.terms, again))
