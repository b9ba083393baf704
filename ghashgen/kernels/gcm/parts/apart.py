"""Groups of four messages alike, one group after another, for kernels whose proof needs that.

Nothing of a group is in registers when the next one begins, but what depends on lengths alone.
"""

from collections.abc import Mapping, Sequence

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.ir.builder import Builder, Value
from ghashgen.ir.program import Label, Mem, RegClass, Slot, VReg
from ghashgen.kernels.aes.text import IN_TEXT
from ghashgen.kernels.gcm.kernel import MESSAGES_AT_ONCE, GcmKernel
from ghashgen.kernels.gcm.parts.alike import Alike, AlikeBlocks, swapped_mask
from ghashgen.kernels.gcm.parts.fours import ALL, LANES, ROW_BYTES
from ghashgen.kernels.gcm.parts.lengths import length_block
from ghashgen.kernels.gcm.parts.params import DIFFERS
from ghashgen.kernels.gcm.parts.quads import quad
from ghashgen.kernels.gcm.parts.records import RECORD_BYTES, read, report
from ghashgen.kernels.gcm.parts.start import IV_BYTES
from ghashgen.kernels.hash.parts.interface import entries, in_register, to_register

SIDE_BY_SIDE = b"".join(
    swapped_mask(count).to_bytes(2, "little") * LANES for count in range(BLOCK_BYTES + 1)
)
"""The masks of four blocks of as many bytes each, by that number."""


def groups_apart(b: Builder, kernel: GcmKernel, record: VReg, left: Slot, encrypts: bool) -> None:
    """Record groups of one row; go to `one` for a message that begins none."""

    def count() -> VReg:
        return b.gpr("gpr_load64", left)

    b.branch("below", count(), MESSAGES_AT_ONCE, "one")
    lengths = [b.register(word, cls=RegClass.GPR) for word in ("len", "aad_len")]
    for register, word in zip(lengths, ("len", "aad_len"), strict=True):
        b.assign(register, read(b, record, word))
    usual_and_alike(b, record, lengths, encrypts, "one")
    b.branch("not_below", b.gpr("gpr_sub", lengths[1], 1), BLOCK_BYTES, "one")
    b.branch("not_below", b.gpr("gpr_sub", lengths[0], 1), ROW_BYTES, "one")
    b.branch("not_below", lengths[0], BLOCK_BYTES + 1, "alike")
    for name, kind, held in (("block", BlocksApart, 11), ("alike", Apart, 8)):
        b.label(name)
        with b.part(name):
            fours = kind(b, kernel, b.params[0], encrypts)
            fours.keys_of(lengths[0])
            fours.load_constants(held)
            b.emit("jump", Label("first"))
            with b.loop("group"):
                b.branch("below", count(), MESSAGES_AT_ONCE, "no")
                usual_and_alike(b, record, lengths, encrypts, "no")
                b.label("first")
                fours.row_masks(lengths[0])
                fours.first_row(record)
                fours.hashed(record, lengths)
                fours.finished(record, 0, True)
                fours.judged(record, 0)
                group = RECORD_BYTES * MESSAGES_AT_ONCE
                b.assign(record, b.gpr("gpr_add", record, group, note="the next group"))
                b.emit("gpr_store64", left, b.gpr("gpr_sub", count(), MESSAGES_AT_ONCE))
                b.emit("jump", Label("group"))
                if not encrypts:
                    fours.cleared_where_wrong(record, lengths[0])
            b.label("no")
        b.emit("jump", Label("next"))


def usual_and_alike(
    b: Builder, record: VReg, lengths: Sequence[VReg], encrypts: bool, no: str
) -> None:
    """Record that four messages have these lengths, and usual IVs and tags; go to `no` if not.

    Each length is compared by a branch: a proof follows branches, and no OR of differences, as
    `alike.differing_lengths` records.
    """
    for i in ALL:
        b.branch("not_equal", read(b, record, "iv_len", i), IV_BYTES, no)
        if not encrypts:
            b.branch("not_equal", read(b, record, "tag_len", i), BLOCK_BYTES, no)
        for word, register in zip(("len", "aad_len"), lengths, strict=True):
            b.branch("differs", read(b, record, word, i), register, no)


class Apart(Alike):
    """The registers of such groups."""

    def keys_of(self, length: VReg) -> None:
        """Record the powers for texts of a length."""
        b = self.b
        rounded = b.gpr("gpr_and", b.gpr("gpr_add", length, 15), -16, note="16·m")
        b.assign(
            self.begin, b.gpr("gpr_minus", self.context, rounded, note="m powers from the end")
        )
        self.first_keys()

    def hashed(self, record: VReg, lengths: Sequence[VReg]) -> None:
        """Record the products of AAD and of lengths."""
        b, (length, aad_length) = self.b, lengths
        b.about("AAD, lengths")
        b.emit("mask", self.aad, b.gpr("gpr_low", b.gpr("gpr_const64", -1), aad_length))
        blocks = [self.few("aad", read(b, record, "aad", i), self.aad) for i in ALL]
        S = to_register(b, self.hashing, quad(b, blocks), "S")
        near = entries(self.hashing, self.context, 1)
        products = self._products({}, length_block(b, self.kernel, aad_length, length), near)
        sums: Mapping[str, Value] = {
            name: b.spread_lane(in_register(half), LANES) for name, half in products.items()
        }
        sums = self._products(sums, S, self.far_keys())
        for name, register in self.sums.items():
            b.assign(register, in_register(sums[name]))
        b.about("")

    def before_compared(self, tags: VReg) -> VReg:
        """Return the tags in a register: a proof has something to say of them here."""
        whole = self.b.register("tags", LANES)
        self.b.assign(whole, tags)
        self.b.label("tags")
        return whole

    def compared(self, tags: VReg, given: VReg) -> None:
        """Record, for each message by itself, a number that is 0 if its tag is right."""
        b = self.b
        found = b.xor(tags, given, "differences")
        both = b.or_(found, b.swap64(found), "all differences")
        self.differing = [b.to_gpr(b.lane(both, i)) for i in ALL]

    def judged(self, record: VReg, ahead: int) -> None:
        """Go to what becomes of each message with a wrong tag."""
        for i in ALL if not self.encrypts else ():
            self.b.branch("not_equal", self.differing[i], 0, f"wrong_{i}")
            self.b.label(f"judged_{i}")

    def cleared_where_wrong(self, record: VReg, length: VReg) -> None:
        """Record what becomes of messages with a wrong tag: zeros for text, and their status."""
        b = self.b
        for i in ALL:
            b.label(f"wrong_{i}")
            b.emit("mask", self.present[0], b.gpr("gpr_low", b.gpr("gpr_const64", -1), length))
            zeros = b.register("zeros", LANES)
            b.emit("zero", zeros)
            out = Mem(base=read(b, record, "out", i), within=IN_TEXT)
            b.emit("store_masked", out, self.present[0], zeros, note="zeros")
            report(b, record, DIFFERS, i)
            b.emit("jump", Label(f"judged_{i}"))


class BlocksApart(Apart, AlikeBlocks):
    """The same for messages of at most one block: the four texts share a register."""

    def row_masks(self, length: VReg) -> None:
        """Record which bytes the blocks have: alone, and four side by side."""
        b = self.b
        b.emit("mask", self.present[0], b.gpr("gpr_low", b.gpr("gpr_const64", -1), length))
        table = b.gpr("gpr_address", b.const_bytes(SIDE_BY_SIDE, "side_by_side"))
        b.emit("load_mask", self.swapped, Mem(base=table, index=length, scale=8))
