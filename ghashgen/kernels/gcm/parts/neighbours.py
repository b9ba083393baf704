"""Groups of four neighbours alike in narrow registers, for kernels whose proof needs that.

They are those of `columns`, but nothing of a group is anywhere when the next one begins:

    texts     the cipher over J_0 and texts; ciphertext in register form and E_K(J_0) are put aside
    hash      AAD and lengths, then the texts; the four tags, which are written or compared

Between the two, only the number of blocks is known of a length. So a proof goes through the lengths
of text before, and through those of AAD behind. The last 16 bytes of a text are written with all of
their keystream, so what is written twice is the same both times.
"""

from collections.abc import Mapping, Sequence
from functools import partial

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.ir.builder import Builder, Value
from ghashgen.ir.program import Label, Mem, RegClass, Slot, VReg
from ghashgen.kernels.gcm.kernel import MESSAGES_AT_ONCE, GcmKernel
from ghashgen.kernels.gcm.parts.apart import usual_and_alike
from ghashgen.kernels.gcm.parts.columns import AAD_PIECES, JOINED, MOVED_UP, REVERSED, Columns
from ghashgen.kernels.gcm.parts.ends import TURNED, last_lane
from ghashgen.kernels.gcm.parts.lengths import length_block
from ghashgen.kernels.gcm.parts.params import DIFFERS, DONE
from ghashgen.kernels.gcm.parts.plan import choose
from ghashgen.kernels.gcm.parts.records import read, report
from ghashgen.kernels.gcm.parts.side import next_group
from ghashgen.kernels.hash.parts.interface import in_register, to_register

MOST = {1: 4, 2: 8}
"""Blocks of the longest message in a group, by lanes, if the table has its powers of H and two
more. With one lane, longer ones gained nothing on a Zen 4."""


def groups_of_neighbours(
    b: Builder, kernel: GcmKernel, record: VReg, left: Slot, encrypts: bool, slots: int
) -> int:
    """Record all groups; go to `mixed` for four that are not alike, if registers have two lanes,
    and to `one` for a message that begins no group.

    Takes stack slots from number `slots` on, and returns their end.
    """

    def count() -> VReg:
        return b.gpr("gpr_load64", left)

    b.branch("below", count(), MESSAGES_AT_ONCE, "one")
    lengths = [b.register(word, cls=RegClass.GPR) for word in ("len", "aad_len")]
    for register, word in zip(lengths, ("len", "aad_len"), strict=True):
        b.assign(register, read(b, record, word))
    longest = min(MOST[kernel.lane_count], kernel.layout.top - 2)
    b.branch("below", lengths[0], BLOCK_BYTES, "one")
    b.branch("not_below", lengths[0], longest * BLOCK_BYTES + 1, "one")
    b.branch("equal", lengths[1], 0, "fits")
    b.branch("below", lengths[1], min(AAD_PIECES), "one")
    b.branch("not_below", lengths[1], BLOCK_BYTES + 1, "one")
    b.label("fits")
    usual_and_alike(b, record, lengths, encrypts, "mixed" if kernel.lane_count > 1 else "one")
    kinds = [
        Neighbours(b, kernel, b.params[0], encrypts, m, slots, lengths)
        for m in range(1, longest + 1)
    ]

    def groups(kind: Neighbours) -> None:
        with b.part(f"alike_{kind.blocks}"):
            b.emit("jump", Label("first"))
            with b.loop("group"):
                b.branch("below", count(), kind.count, "no")
                usual_and_alike(b, record, lengths, encrypts, "no")
                b.label("first")
                kind.first_row(record)
                kind.pointers.clear()
                b.label("hash")
                kind.finished(record, 0, True)
                kind.judged(record, 0)
                next_group(b, record, left, kind.count)
                b.emit("jump", Label("group"))
                kind.cleared_where_wrong(record)
            b.label("no")
        b.emit("jump", Label("next"))

    cases = {BLOCK_BYTES * (kind.blocks - 1) + 1: partial(groups, kind) for kind in kinds}
    choose(b, lengths[0], cases, lambda least: f"over_{least // BLOCK_BYTES}", lambda n: n // 2)
    return max(kind.end for kind in kinds)


class Neighbours(Columns):
    """What is recorded for such groups of messages of `blocks` blocks."""

    at_once: Mapping[int, int] = {1: 10, 2: 10}
    """No GHASH is beside the cipher."""

    def __init__(
        self,
        b: Builder,
        kernel: GcmKernel,
        context: VReg,
        encrypts: bool,
        blocks: int,
        slots: int,
        lengths: Sequence[VReg],
    ) -> None:
        super().__init__(b, kernel, context, encrypts, blocks, slots)
        self.length, self.aad_length = lengths
        self.words_of = [("len", self.length), ("aad_len", self.aad_length)]
        self.pointers = dict[tuple[str, int], VReg]()

    @staticmethod
    def most(blocks: int) -> int:
        """Return how many messages make a group."""
        return MESSAGES_AT_ONCE

    def _pointer(self, record: VReg, word: str, i: int) -> VReg:
        if (word, i) not in self.pointers:
            self.pointers[word, i] = super()._pointer(record, word, i)
        return self.pointers[word, i]

    def _write(self, record: VReg, column: int, block: int, state: VReg, last: VReg) -> None:
        b, given, ends = self.b, self._text(record, column, block), block == self.blocks > 1
        if ends:
            given = b.shuffle_bytes(given, self._order(TURNED, "turned", True), "text, zero-padded")
        written = b.aes_last(state, b.xor(last, given, "k_Nr + text"), "the other text")
        if ends:
            # It is stored with the bytes before it, of which the text has to be read first.
            self.moved = b.shuffle_bytes(written, self._order(MOVED_UP, "moved_up"), "moved up")
        else:
            self._store(record, column, block, written)
        if ends and self.encrypts:
            order = self._order(REVERSED, "reversed")
            C = b.shuffle_bytes(self.moved, order, "C, zero-padded")
        else:
            C = to_register(b, self.hashing, written if self.encrypts else given, "C")
        if block == self.blocks - 1:
            before = b.shuffle_bytes(written, self._order(TURNED, "turned"), "the bytes before")
            self._store(record, column, block + 1, b.xor(before, self.moved, "the last 16 bytes"))
        b.store(self.C[column][block - 1], C, "C, put aside")

    def _store(self, record: VReg, column: int, block: int, written: VReg) -> None:
        self._apart([self._at(record, "out", i, block) for i in self._messages(column)], written)

    def _order(self, table: bytes, name: str, back: bool = False) -> VReg:
        """Record the order of bytes that a table has for the bytes of the last block.

        That of `ends` begins with 16 more, and has orders for the bytes that lack there.
        """
        b, length, at = self.b, self.length, BLOCK_BYTES * (self.blocks - 1)
        begin = b.gpr("gpr_address", b.const_bytes(table, name))
        if back:
            place = Mem(base=b.gpr("gpr_minus", begin, length), disp=at + 2 * BLOCK_BYTES)
        else:
            place = Mem(base=begin, index=length, disp=BLOCK_BYTES * (table is TURNED) - at)
        return b.load_spread(place, self.lanes)

    def finished(self, record: VReg, ahead: int, only: bool) -> None:
        """Record GHASH of the group, and its tags; go on where they are right."""
        b, all_tags = self.b, list[VReg]()
        self._gather(record, ahead)
        self._length_products(record)
        for c in self.columns:
            X = self._hashed(c)
            mask = b.load(self.masks[c], "E_K(J_0)", self.lanes)
            tags = b.register("tags", self.lanes)
            b.assign(tags, b.xor(to_register(b, self.hashing, X, "as in memory"), mask, "tags"))
            all_tags.append(tags)
            if self.encrypts:
                self._apart([self._tag(record, i) for i in self._messages(c)], tags)
        self._told(record, all_tags)
        b.about("")

    def _told(self, record: VReg, tags: Sequence[VReg]) -> None:
        """Record what there is to do with the tags of all messages, and their status."""
        b = self.b
        if not self.encrypts:
            # A proof has something to say of all tags here.
            b.label("tags")
            self.differing = [x for c in self.columns for x in self._compared(record, c, tags)]
        done = b.gpr("gpr_const", DONE)
        for i in range(self.count):
            report(b, record, done, i)

    def _length_products(self, record: VReg) -> None:
        """Record the products of the lengths."""
        b = self.b
        b.about("lengths")
        block = length_block(b, self.kernel, self.aad_length, self.length)
        if self.lanes > 1:
            block = b.spread_lane(block, self.lanes)
        products = self._products({}, block, self._power(1))
        self.lengths_hashed = {name: in_register(half) for name, half in products.items()}

    def _of_lengths(self, column: int) -> Mapping[str, Value]:
        return self.lengths_hashed

    def _compared(self, record: VReg, column: int, tags: Sequence[VReg]) -> list[VReg]:
        """Return, for each message of a column, a number that is 0 if its tag is right."""
        b, (first, *others) = self.b, self._messages(column)
        given = b.load(self._tag(record, first), "given tags")
        given = self._side_by_side([given, *(self._tag(record, i) for i in others)], "given tags")
        found = b.xor(tags[column], given, "differences")
        both = b.or_(found, b.swap64(found), "all differences")
        lanes = [b.first_lane(both), last_lane(b, self.kernel, both)][: self.lanes]
        return [b.to_gpr(lane) for lane in lanes]

    def _aad(self, column: int) -> VReg:
        b = self.b
        at = b.gpr("gpr_address", b.const_bytes(JOINED, "joined"))
        order = Mem(base=at, index=b.gpr("gpr_shl", self.aad_length, 4))
        pieces = b.load(self.aad[column], "AAD", self.lanes)
        return b.shuffle_bytes(pieces, b.load_spread(order, self.lanes), "S")

    def _ciphertext(self, column: int, block: int) -> VReg:
        return self.b.load(self.C[column][block - 1], "C", self.lanes)

    def judged(self, record: VReg, ahead: int) -> None:
        """Go to what becomes of each message with a wrong tag."""
        for i in () if self.encrypts else range(self.count):
            self.b.branch("not_equal", self.differing[i], 0, f"wrong_{i}")
            self.b.label(f"judged_{i}")

    def cleared_where_wrong(self, record: VReg) -> None:
        """Record what becomes of messages with a wrong tag: zeros for text, and their status."""
        b = self.b
        for i in () if self.encrypts else range(self.count):
            b.label(f"wrong_{i}")
            self.pointers.clear()
            zeros = b.zero("zeros")
            for j in range(1, self.blocks + 1):
                b.store(self._at(record, "out", i, j), zeros, "zeros")
            report(b, record, DIFFERS, i)
            b.emit("jump", Label(f"judged_{i}"))
