"""A text of few blocks, on one straight path: one pass of the cipher, one sum, one reduction.

Text lies in registers of L lanes as it does in memory, C_1 in lane 0. `exact` reads and writes the
last register. J_0 goes through the cipher in that register's last lane if it is free, and otherwise
in a register of its own:

    blocks of text    registers
    0 … L-1           C_1 … , J_0
    L                 C_1 … C_L    J_0
    L+1 … 2L-1        C_1 … C_L    C_(L+1) … , J_0

and so on; each row has its own path. The IV has 96 bits. Counter blocks are IV || j: each is one
sum with a constant, and none waits for another. k_0 joins the IV before that. The hash is one sum,

    S·H^(m+2) + C_1·H^(m+1) + … + C_m·H^2 + lengths·H

where S is the AAD's hash before its last multiplication: its last block, added to the state of the
blocks before; 0 without AAD. S and the lengths are a pair of lanes. Their products wait for no
cipher, and start the sums. In an open, ciphertext waits for none either: with m <= L - 2, S, C_1,
…, C_m and the lengths are the lanes of one register. Sums are swapped to memory order before their
lanes are added, so that E_K(J_0) joins the last lane in one operation.

Calls overlap while the schedulers have room. An operation that waits for the cipher occupies a
scheduler entry for long; one that is ready at once does not. So all registers go through a round
together, and each has as little as possible after the cipher.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.schemes import aggregate
from ghashgen.ir.builder import Builder, Value
from ghashgen.ir.program import Label, Mem, VReg
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.gcm.parts.cipher import RoundKeys, add_text, inner_rounds
from ghashgen.kernels.gcm.parts.narrow import far_and_near
from ghashgen.kernels.gcm.parts.text import IN_TEXT
from ghashgen.kernels.hash.parts.exact import Exact, cut
from ghashgen.kernels.hash.parts.interface import (
    close_group,
    entries,
    in_register,
    key_sum,
    to_register,
)

MOST_REGISTERS = 4
"""Registers of text. Each number of them has its own code, twice."""


def most_registers(kernel: GcmKernel) -> int:
    """Return the number of registers of the longest text whose powers are in the table."""
    return min(kernel.blocks // kernel.lane_count, MOST_REGISTERS)


def most_bytes(kernel: GcmKernel) -> int:
    """Return the bytes of the longest text."""
    if not kernel.instruction_set.partial_registers:
        return BLOCK_BYTES * kernel.hash.straight
    return BLOCK_BYTES * most_registers(kernel) * kernel.lane_count


@dataclass(frozen=True)
class Way:
    """Code for texts of the lengths `bytes_`, which fill `count` registers.

    `full`: these have no lane left for J_0.
    """

    count: int
    full: bool
    bytes_: range

    def numbers(self, lanes: int) -> dict[str, list[int]]:
        """Return the numbers after the IV in each lane of its registers, by name; J_0's is 1."""
        rows = [list(range(lanes * i + 2, lanes * i + lanes + 2)) for i in range(self.count)]
        if self.full:
            rows.append([1] * lanes)
        else:
            rows[-1][-1] = 1
        return {f"numbers_{row[0]}" + ("_1" if row[-1] == 1 else ""): row for row in rows}


def ways(kernel: GcmKernel, least: int) -> list[Way]:
    """Return the paths for texts of `least` bytes and more, the shortest texts first.

    Texts of one register have a path for each way of `exact`.
    """
    lanes, out = kernel.lane_count, list[Way]()
    for count in range(1, most_registers(kernel) + 1):
        for full in (False, True):
            most = BLOCK_BYTES * (count * lanes - (not full))
            numbers = range(least, most + 1)
            parts = cut(numbers, lanes) if count == 1 else [numbers]
            out += [Way(count, full, part) for part in parts]
            least = most + 1
    return out


def fits_one(lanes: int) -> int:
    """Return the bytes of text that fit in one register with S and the lengths."""
    return BLOCK_BYTES * (lanes - 2)


def _big_endian(number: int) -> int:
    """Return `number` as the last four bytes of a block hold it."""
    return int.from_bytes(bytes(12) + number.to_bytes(4, "big"), "little")


@dataclass(frozen=True)
class Short:
    """A short message: where its text is, and the registers that hold the rest.

    `iv` is IV || 0 in every lane. `lengths` is the length block and S the sum above, both in
    register form.
    """

    b: Builder
    kernel: GcmKernel
    context: VReg
    source: VReg
    length: VReg
    out: VReg
    iv: VReg
    S: VReg
    lengths: VReg
    encrypts: bool

    def record(self) -> VReg:
        """Record the message; return the tag in memory order."""
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
        begun = b.xor(self.iv, keys.key(0, lanes), "(IV || 0) + k_0")
        paths = Paths(self, keys, begun, back, powers, acc, terms, b.register("E_K(J_0)"))
        least = 0
        if not self.encrypts and fits_one(lanes):
            least = fits_one(lanes) + 1
            b.branch("not_below", self.length, least, "over_one")
            paths.one(cut(range(least), lanes))
            b.label("over_one")
        paths.record(ways(kernel, least), self._pair(powers))
        b.label("reduce")
        scheme = hashing.multiplier, hashing.reducer, hashing.bit_order
        X = in_register(aggregate.finish(b, *scheme, acc, None))
        mask = paths.mask
        if terms is not None:
            mask = b.xor(mask, to_register(b, hashing, terms, "as in memory"), "minus the terms")
        swapped = to_register(b, hashing, X, "as in memory")
        return b.xor(close_group(b, swapped, None), mask, "the tag")

    def _pair(self, powers: VReg) -> Mapping[str, Value]:
        """Record the products of S and the lengths."""
        b, hashing = self.b, self.kernel.hash
        b.about("S, lengths")
        A = b.insert_lane(self.S, 1, self.lengths, 2, "S, the lengths")
        power = far_and_near(b, self.kernel, powers, self.context)
        sums = aggregate.accumulate(b, hashing.multiplier, hashing.bit_order, {}, A, power)
        b.about("")
        return sums


@dataclass(frozen=True)
class Paths:
    """The paths of texts, up to their final sums."""

    message: Short
    keys: RoundKeys
    begun: VReg
    """(IV || 0) + k_0 in every lane."""
    back: VReg
    powers: VReg
    acc: Mapping[str, VReg]
    terms: VReg | None
    mask: VReg

    def record(self, open_: Sequence[Way], pair: Mapping[str, Value]) -> None:
        """Record all paths, and select one by the number of bytes."""
        b = self.message.b
        if len(open_) == 1:
            self._way(open_[0], pair)
            b.emit("jump", Label("reduce"))
            return
        lower, upper = open_[: len(open_) // 2], open_[len(open_) // 2 :]
        least = upper[0].bytes_[0]
        b.branch("not_below", self.message.length, least, f"from_{least}")
        self.record(lower, pair)
        b.label(f"from_{least}")
        self.record(upper, pair)

    def _way(self, way: Way, pair: Mapping[str, Value]) -> None:
        """Record one path."""
        message, lanes = self.message, self.message.kernel.lane_count
        b, step = message.b, BLOCK_BYTES * lanes
        left, before = message.length, step * (way.count - 1)
        if before:
            left = b.gpr("gpr_address", Mem(base=left, disp=-before))
        numbers = range(way.bytes_[0] - before, way.bytes_[-1] - before + 1)
        exact = Exact.of(b, left, numbers, lanes, behind=way.count > 1)
        given = exact.load(f"given_{way.bytes_[0]}", self._places(before)[0])
        *states, last = inner_rounds(b, self.keys, self._whitened(way))
        if way.full:
            E = b.aes_last(last, self.keys.last(lanes), "E_K(J_0)")
            b.assign(self.mask, b.first_lane(E))
            *states, last = states
        sums = pair
        for i, state in enumerate(states):
            place, out = self._places(step * i)
            raw = b.load(place, "text", lanes)
            written = add_text(b, state, self.keys.last(lanes), raw, "other text")
            b.store(out, written, "written")
            sums = self._sum(sums, written if message.encrypts else raw, i)
        written = add_text(b, last, self.keys.last(lanes), given, "other text")
        if not way.full:
            self._keep_last_lane(written)
        C = exact.first(written, "C, zero-padded") if message.encrypts else given
        self._assign(self._sum(sums, C, way.count - 1))
        exact.store(f"written_{way.bytes_[0]}", self._places(before)[1], written)
        if self.terms is not None and not way.full:
            # The first lane after C_m meets H once more.
            R = key_sum(message.kernel.hash, message.context, 1)
            assert R is not None
            b.assign(self.terms, b.xor(self.terms, R, "those of H"))

    def one(self, open_: Sequence[range]) -> None:
        """Record the paths of a text that shares one register with S and the lengths.

        Each range of lengths has one path.
        """
        b = self.message.b
        for numbers in reversed(open_[1:]):
            b.branch("below", self.message.length, numbers[0], f"under_{numbers[0]}")
            self._one(numbers)
            b.label(f"under_{numbers[0]}")
        self._one(open_[0])

    def _one(self, numbers: range) -> None:
        message, lanes = self.message, self.message.kernel.lane_count
        b, hashing = message.b, message.kernel.hash
        exact = Exact.of(b, message.length, numbers, lanes)
        raw = exact.load(f"one_{numbers[0]}", self._places(0)[0])
        C = to_register(b, hashing, b.lanes_up(raw, 1, "the text, behind lane 0"), "C")
        A = b.xor(C, b.xor(self._lengths(), message.S, "S in lane 0"), "S, C_1 …, the lengths")
        self._assign(self._met({}, A, message.kernel.layout.top))
        (state,) = inner_rounds(b, self.keys, self._whitened(Way(1, False, numbers)))
        written = add_text(b, state, self.keys.last(lanes), raw, "other text")
        self._keep_last_lane(written)
        exact.store(f"one_written_{numbers[0]}", self._places(0)[1], written)
        b.emit("jump", Label("reduce"))

    def _lengths(self) -> VReg:
        """Record the length block in the lane after the text, zeros elsewhere."""
        b, lanes = self.message.b, self.message.kernel.lane_count
        place, size = BLOCK_BYTES * (lanes - 1), 2 * BLOCK_BYTES * lanes
        window = bytes(place) + b"\xff" * BLOCK_BYTES + bytes(size - place - BLOCK_BYTES)
        at = b.gpr("gpr_address", b.const_bytes(window, "one_lane"))
        spread = b.spread_lane(self.message.lengths, lanes, "the lengths in every lane")
        return b.and_(spread, Mem(base=at, index=self.back, disp=place - BLOCK_BYTES), "in theirs")

    def _places(self, at: int) -> tuple[Mem, Mem]:
        """Return the same place in the input and in the output."""
        message = self.message
        return (
            Mem(base=message.source, disp=at, within=IN_TEXT),
            Mem(base=message.out, disp=at, within=IN_TEXT),
        )

    def _keep_last_lane(self, written: VReg) -> None:
        b = self.message.b
        last = b.lanes_down(written, b.lanes_of(written) - 1, "E_K(J_0)")
        b.assign(self.mask, b.first_lane(last))

    def _assign(self, sums: Mapping[str, Value]) -> None:
        for name, register in self.acc.items():
            self.message.b.assign(register, sums[name])

    def _whitened(self, way: Way) -> list[VReg]:
        """Record the counter blocks + k_0 of a path, including J_0."""
        b, lanes = self.message.b, self.message.kernel.lane_count
        return [
            b.xor(self.begun, b.const_lanes([_big_endian(j) for j in row], name), "IV || j, + k_0")
            for name, row in way.numbers(lanes).items()
        ]

    def _sum(self, sums: Mapping[str, Value], C: VReg, i: int) -> Mapping[str, Value]:
        """Record the sums with register `i` of the text; C_1 meets H^(m+1)."""
        b, kernel = self.message.b, self.message.kernel
        A = to_register(b, kernel.hash, C, "C")
        return self._met(sums, A, kernel.layout.top - 1 - i * kernel.lane_count)

    def _met(self, sums: Mapping[str, Value], A: VReg, power: int) -> Mapping[str, Value]:
        """Record the sums with one more register. Its first lane meets H^power."""
        b, hashing = self.message.b, self.message.kernel.hash
        met = entries(hashing, self.powers, power)
        return aggregate.accumulate(b, hashing.multiplier, hashing.bit_order, sums, A, met)
