"""Four messages alike: one row each, and the same lengths of text and AAD.

What depends on lengths alone is computed once for all groups of one shape and stays in registers:
masks, powers of H, and the products of the length block.
"""

from collections.abc import Mapping, Sequence

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.ir.builder import Builder, Value
from ghashgen.ir.program import Mem, RegClass, VReg
from ghashgen.kernels.aes.text import IN_TEXT
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.gcm.parts.fours import ALL, LANES, MASKS, ROW_BYTES, Fours, numbered
from ghashgen.kernels.gcm.parts.quads import quad
from ghashgen.kernels.gcm.parts.records import place, read
from ghashgen.kernels.gcm.parts.side import usual
from ghashgen.kernels.hash.parts.interface import entries, in_register, to_register
from ghashgen.kernels.memory import BYTE_SWAP


def swapped_mask(count: int) -> int:
    """Return the mask of a row's first `count` bytes after the bytes of each block are reversed."""
    return sum(1 << (i ^ BLOCK_BYTES - 1) for i in range(count))


SWAPPED = b"".join(swapped_mask(count).to_bytes(8, "little") for count in range(ROW_BYTES + 1))
"""These masks by number of bytes."""


def differing_lengths(
    b: Builder, record: VReg, which: Sequence[int], words_of: Sequence[tuple[str, VReg]]
) -> VReg:
    """Record a number that is 0 only if some messages have the lengths in these registers.

    It needs one branch. A proof does not follow it: kernels that are proved have
    `apart.usual_and_alike`.
    """
    differs = b.gpr("gpr_const", 0)
    for i in which:
        for word, register in words_of:
            other = b.gpr("gpr_xor", read(b, record, word, i), register)
            differs = b.gpr("gpr_or", differs, other)
    return differs


class Alike(Fours):
    """The registers of such groups."""

    def __init__(self, b: Builder, kernel: GcmKernel, context: VReg, encrypts: bool) -> None:
        super().__init__(b, kernel, context, encrypts)
        names = self.hashing.multiplier.entries
        self.present = [self.present[0]] * len(ALL)
        self.swapped, self.aad = (b.register(name, cls=RegClass.MASK) for name in ("C", "AAD"))
        self.far = [b.register(f"{name} of the AAD", LANES) for name in names]
        self.lengths = {name: b.register(f"{name} of the lengths", LANES) for name in self.sums}
        self.words_of = [(word, b.register(word, cls=RegClass.GPR)) for word in ("len", "aad_len")]
        self.begin = b.register("begin", cls=RegClass.GPR)

    def shape(self, record: VReg, rows: VReg, no: str) -> None:
        """Record the shape of the first message of a group; go to `no` if another has another."""
        b = self.b
        for word, register in self.words_of:
            b.assign(register, read(b, record, word))
        self._like(record, ALL[1:], no)
        (_, length), (_, aad_length) = self.words_of
        self.row_masks(length)
        b.emit("mask", self.aad, b.gpr("gpr_low", b.gpr("gpr_const64", -1), aad_length))
        self.keys_of(length)
        near = entries(self.hashing, self.context, 1)
        pair = b.load_spread(place(record, "len"), LANES, "both lengths")
        bits = b.shl64(pair, 3, "bits of both lengths")
        products = self._products({}, bits, [self._spread(key) for key in near])
        for name, register in self.lengths.items():
            b.assign(register, products[name])

    def keys_of(self, length: VReg) -> None:
        """Record the powers for texts of a length."""
        b = self.b
        rounded = b.gpr("gpr_and", b.gpr("gpr_add", length, 15), -16, note="16·m")
        begin = b.gpr("gpr_minus", self.context, rounded, note="m powers from the end")
        b.assign(self.begin, begin)
        self.first_keys()

    def row_masks(self, length: VReg) -> None:
        """Record which bytes the row has."""
        b = self.b
        b.emit("mask", self.present[0], b.gpr("gpr_low", b.gpr("gpr_const64", -1), length))
        b.emit("load_mask", self.swapped, self._swapped(length))

    def first_keys(self) -> None:
        """Record the powers for the row."""
        b = self.b
        names = self.hashing.multiplier.entries
        self.row = [b.register(f"{name} of the text", LANES) for name in names]
        for register, key in zip(self.row, entries(self.hashing, self.begin, 1), strict=True):
            b.emit("copy", register, key, note="H^(m+1) …")
        self.keep_far()

    def keep_far(self) -> None:
        """Record the power for the AAD, in every lane."""
        for register, key in zip(self.far, entries(self.hashing, self.begin, 2), strict=True):
            self.b.assign(register, self._spread(key))

    def far_keys(self) -> Sequence[Value]:
        """Return the power for the AAD."""
        return self.far

    def _swapped(self, count: VReg) -> Mem:
        table = self.b.gpr("gpr_address", self.b.const_bytes(SWAPPED, "swapped_masks"))
        return Mem(base=table, index=count, scale=8)

    def _spread(self, key: Value) -> VReg:
        assert isinstance(key, Mem)
        return self.b.load_spread(key, LANES)

    def fits(self, record: VReg, rows: VReg, no: str) -> None:
        """Go to `no` unless the next group has this shape."""
        self._like(record, ALL, no)
        for i in ALL:
            usual(self.b, record, i, self.encrypts, no)

    def _like(self, record: VReg, which: Sequence[int], no: str) -> None:
        differs = differing_lengths(self.b, record, which, self.words_of)
        self.b.branch("not_equal", differs, 0, no)

    def padded(self, i: int, C: VReg) -> VReg:
        """Record ciphertext in register form, zero-padded."""
        out, swap = self.b.register("C", LANES), self.b.const(BYTE_SWAP, "byte_swap")
        self.b.emit("shuffle_masked", out, self.swapped, C, swap, note="C, zero-padded")
        return out

    def row_keys(self) -> Sequence[Sequence[Value]]:
        """Return the powers for the row of each message."""
        return [self.row] * len(ALL)

    def begun(self, record: VReg) -> None:
        """Record the products of AAD, with those of the lengths."""
        b = self.b
        b.about("AAD")
        blocks = [self.few("aad", read(b, record, "aad", i), self.aad) for i in ALL]
        S = to_register(b, self.hashing, quad(b, blocks), "S")
        sums: Mapping[str, Value] = self._products(self.lengths, S, self.far_keys())
        for name, register in self.sums.items():
            b.assign(register, in_register(sums[name]))
        b.about("")


class AlikeRows(Alike):
    """The same for messages of several rows each."""

    def row_masks(self, length: VReg) -> None:
        """Put aside which bytes the last row has; the others are whole."""
        b = self.b
        last = b.gpr("gpr_and", b.gpr("gpr_sub", length, 1), ROW_BYTES - 1)
        last = b.gpr("gpr_add", last, 1, note="bytes of the last row")
        ones = b.gpr("gpr_const64", -1)
        b.emit("gpr_store64", MASKS[0], b.gpr("gpr_low", ones, last))
        b.emit("gpr_store64", MASKS[1], b.gpr("gpr_load64", self._swapped(last)))
        self._whole()

    def _whole(self) -> None:
        ones = self.b.gpr("gpr_const64", -1)
        for mask in (self.present[0], self.swapped):
            self.b.emit("mask", mask, ones)

    def last_masks(self) -> None:
        """Record which bytes the last row has."""
        for mask, slot in zip((self.present[0], self.swapped), MASKS[:2], strict=True):
            self.b.emit("load_mask", mask, slot)

    def first_keys(self) -> None:
        """Leave the powers in memory."""

    def far_keys(self) -> Sequence[Value]:
        """Record the power for the AAD."""
        return [self._spread(key) for key in entries(self.hashing, self.begin, 2)]

    def fits(self, record: VReg, rows: VReg, no: str) -> None:
        """Go to `no` unless the next group has this shape."""
        super().fits(record, rows, no)
        self._whole()

    def row_keys(self) -> Sequence[Sequence[Value]]:
        """Record the powers for the row of each message."""
        keys = entries(self.hashing, self.at[0], 1)
        return [[self.b.load(key, "H^(m+1) …", LANES) for key in keys if isinstance(key, Mem)]] * 4

    def row_done(self) -> None:
        """Record the place of the next row's powers."""
        self.b.assign(self.at[0], self.b.gpr("gpr_add", self.at[0], ROW_BYTES))

    def begun(self, record: VReg) -> None:
        """Record the products of AAD, with those of the lengths."""
        super().begun(record)
        self.b.assign(self.at[0], self.begin)


class AlikeBlocks(Alike):
    """The same for messages of at most one block: the four texts share a register."""

    def row_masks(self, length: VReg) -> None:
        """Record which bytes the blocks have: alone, and four side by side."""
        b = self.b
        b.emit("mask", self.present[0], b.gpr("gpr_low", b.gpr("gpr_const64", -1), length))
        swapped = b.gpr("gpr_load64", self._swapped(length))
        for bits in (16, 32):
            swapped = b.gpr("gpr_or", swapped, b.gpr("gpr_shl", swapped, bits))
        b.emit("mask", self.swapped, swapped)

    def first_keys(self) -> None:
        """Record the power for the block."""
        names = self.hashing.multiplier.entries
        self.row = [self.b.register(f"{name} of the text", LANES) for name in names]
        for register, key in zip(self.row, entries(self.hashing, self.begin, 1), strict=True):
            self.b.assign(register, self._spread(key))
        self.keep_far()

    def first_numbers(self) -> Value:
        """Return the numbers of the counter blocks."""
        return self.b.const_lanes([numbered(2)[0]] * LANES, "twos")

    def first_rounds(self, record: VReg) -> list[VReg]:
        """Record all rounds but the last, of J_0 and of the only block of four messages."""
        b = self.b
        ivs = [self.few("iv", read(b, record, "iv", i), self.iv_bytes) for i in ALL]
        four = quad(b, ivs, "IV || 0")
        return self._rounds([b.xor(four, white, "+ k_0") for white in self.white])

    def written_first(self, record: VReg, rounds: Sequence[VReg]) -> None:
        """Record the last round, the four texts and E_K(J_0)."""
        b, (J0, state), last = self.b, rounds, self.keys.last(LANES)
        given = quad(
            b, [self.few("in", read(b, record, "in", i), self.present[0]) for i in ALL], "text"
        )
        written = b.aes_last(state, b.xor(last, given, "k_Nr + text"), "the other text")
        for i in ALL:
            at = Mem(base=read(b, record, "out", i), within=IN_TEXT)
            b.emit("store_masked", at, self.present[0], b.lane(written, i), note="written")
        b.assign(self.blocks[0], self.padded(0, written if self.encrypts else given))
        b.assign(self.mask, b.aes_last(J0, last, "E_K(J_0)"))

    def totals(self, only: bool) -> Mapping[str, Value]:
        """Record the sums of four messages, one in each lane."""
        return self._products(self.sums, self.blocks[0], self.row)
