"""Four messages alike: one row each, and the same lengths of text and AAD.

What depends on lengths alone is computed once for all groups of one shape and stays in registers:
masks, powers of H, and the products of the length block.
"""

from collections.abc import Mapping, Sequence

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.ir.builder import Builder, Value
from ghashgen.ir.program import Mem, RegClass, VReg
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.gcm.parts.fours import ALL, LANES, ROW_BYTES, Fours
from ghashgen.kernels.gcm.parts.quads import quad
from ghashgen.kernels.gcm.parts.records import place, read
from ghashgen.kernels.gcm.parts.start import IV_BYTES
from ghashgen.kernels.hash.parts.interface import entries, in_register, to_register
from ghashgen.kernels.memory import BYTE_SWAP


def swapped_mask(count: int) -> int:
    """Return the mask of a row's first `count` bytes after the bytes of each block are reversed."""
    return sum(1 << (i ^ BLOCK_BYTES - 1) for i in range(count))


SWAPPED = b"".join(swapped_mask(count).to_bytes(8, "little") for count in range(ROW_BYTES + 1))
"""These masks by number of bytes."""


class Alike(Fours):
    """The registers of such groups."""

    def __init__(self, b: Builder, kernel: GcmKernel, context: VReg, encrypts: bool) -> None:
        super().__init__(b, kernel, context, encrypts)
        names = self.hashing.multiplier.entries
        self.present = [self.present[0]] * len(ALL)
        self.swapped, self.aad = (b.register(name, cls=RegClass.MASK) for name in ("C", "AAD"))
        self.row = [b.register(f"{name} of the text", LANES) for name in names]
        self.far = [b.register(f"{name} of the AAD", LANES) for name in names]
        self.lengths = {name: b.register(f"{name} of the lengths", LANES) for name in self.sums}
        self.words_of = [
            (word, b.register(word, cls=RegClass.GPR)) for word in ("len", "aad_len")
        ]

    def shape(self, record: VReg, no: str) -> None:
        """Record the shape of the first message of a group; go to `no` if another has another."""
        b = self.b
        for word, register in self.words_of:
            b.assign(register, read(b, record, word))
        self.like(record, 0, no)
        ones = b.gpr("gpr_const64", -1)
        (_, length), (_, aad_length) = self.words_of
        b.emit("mask", self.present[0], b.gpr("gpr_low", ones, length))
        b.emit("mask", self.aad, b.gpr("gpr_low", ones, aad_length))
        table = b.gpr("gpr_address", b.const_bytes(SWAPPED, "swapped_masks"))
        b.emit("load_mask", self.swapped, Mem(base=table, index=length, scale=8))
        rounded = b.gpr("gpr_and", b.gpr("gpr_add", length, 15), -16, note="16·m")
        at = b.gpr("gpr_minus", self.context, rounded, note="m powers from the end")
        near, far = entries(self.hashing, self.context, 1), entries(self.hashing, at, 2)
        for register, key in zip(self.row, entries(self.hashing, at, 1), strict=True):
            b.emit("copy", register, key, note="H^(m+1) …")
        for register, key in zip(self.far, far, strict=True):
            b.assign(register, self._spread(key))
        pair = b.load_spread(place(record, "len"), LANES, "both lengths")
        bits = b.shl64(pair, 3, "bits of both lengths")
        products = self._products({}, bits, [self._spread(key) for key in near])
        for name, register in self.lengths.items():
            b.assign(register, products[name])

    def _spread(self, key: Value) -> VReg:
        assert isinstance(key, Mem)
        return self.b.load_spread(key, LANES)

    def like(self, record: VReg, ahead: int, no: str) -> None:
        """Go to `no` unless the group `ahead` records on has this shape."""
        b = self.b
        differs = b.gpr("gpr_const", 0)
        for i in ALL:
            for word, register in self.words_of:
                if i or ahead:
                    other = b.gpr("gpr_xor", read(b, record, word, ahead + i), register)
                    differs = b.gpr("gpr_or", differs, other)
        b.branch("not_equal", differs, 0, no)
        if ahead:
            for i in ALL:
                b.branch("not_equal", read(b, record, "iv_len", ahead + i), IV_BYTES, no)
                if not self.encrypts:
                    b.branch("not_equal", read(b, record, "tag_len", ahead + i), BLOCK_BYTES, no)

    def padded(self, i: int, C: VReg) -> VReg:
        """Record ciphertext in register form, zero-padded."""
        out, swap = self.b.register("C", LANES), self.b.const(BYTE_SWAP, "byte_swap")
        self.b.emit("shuffle_masked", out, self.swapped, C, swap, note="C, zero-padded")
        return out

    def row_keys(self, i: int) -> Sequence[Value]:
        """Return the powers for the row of a message."""
        return self.row

    def begun(self, record: VReg, ahead: int = 0) -> None:
        """Record the products of AAD, with those of the lengths."""
        b = self.b
        b.about("AAD")
        blocks = []
        for i in ALL:
            at = Mem(base=read(b, record, "aad", ahead + i), within="aad")
            blocks.append(b.register("AAD"))
            b.emit("load_masked", blocks[i], self.aad, at, note="AAD")
        S = to_register(b, self.hashing, quad(b, blocks), "S")
        sums: Mapping[str, Value] = self._products(self.lengths, S, self.far)
        for name, register in self.sums.items():
            b.assign(register, in_register(sums[name]))
        b.about("")
