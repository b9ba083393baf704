"""Groups of four messages whose lengths differ, in registers of two lanes, for proved kernels.

They are those of `neighbours`, but each message has 1 to 4 blocks of its own; only lengths of AAD
are alike. Its blocks end where those of all others end, and zeros stand before its AAD. So the same
powers of H serve all:

    4 blocks     AAD     C_1     C_2     C_3     C_4
    2 blocks      0       0      AAD     C_1     C_2
                 H^6     H^5     H^4     H^3     H^2       lengths: H

Keystream and these blocks are in the frame, where addresses select by length. A block that a
message does not have is its first one, or its last 16 bytes, once more: they are read and written
with the keystream of their place, and zeros are hashed instead. So nothing branches on a length of
text.
"""

from collections.abc import Mapping, Sequence

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.ir.builder import Builder, Value
from ghashgen.ir.program import Label, Mem, RegClass, Slot, VReg
from ghashgen.kernels.aes.text import IN_TEXT
from ghashgen.kernels.bytes.exact import NOTHING
from ghashgen.kernels.gcm.kernel import MESSAGES_AT_ONCE, GcmKernel
from ghashgen.kernels.gcm.parts.columns import AAD_PIECES
from ghashgen.kernels.gcm.parts.ends import last_lane
from ghashgen.kernels.gcm.parts.lengths import length_block
from ghashgen.kernels.gcm.parts.neighbours import Neighbours
from ghashgen.kernels.gcm.parts.params import DIFFERS, DONE
from ghashgen.kernels.gcm.parts.records import read, report
from ghashgen.kernels.gcm.parts.side import next_group, usual

BLOCKS = 4
"""Blocks of the longest message."""

HASHED = BLOCK_BYTES * (BLOCKS + 1)
"""Bytes of a message's AAD and blocks."""

ORDERS = (BLOCKS - 1) * NOTHING + (BLOCKS - 1) * bytes(reversed(range(BLOCK_BYTES)))
"""Orders of byte shuffles, for register form. Three read from 16·k on keep the last k blocks of
three, and make zeros of the others. One read at 32 + r keeps the last r bytes, zero-padded.
"""

PLACED = ORDERS + b"".join(
    bytes(max(BLOCK_BYTES * (m - k), 0) for k in range(BLOCKS - 1, 1, -1)).ljust(BLOCK_BYTES, b"\0")
    for m in range(1, BLOCKS + 1)
)
"""The same. Behind them, for each number of blocks, where the third and the second block from the
end begin; 0 if there is none.
"""

STREAM, BLOCK, ALONE = "stream", "block", "AAD"
"""What is in the frame, by messages."""

ALL = range(MESSAGES_AT_ONCE)


def unlike_group(
    b: Builder, kernel: GcmKernel, record: VReg, left: Slot, encrypts: bool, slots: int
) -> int:
    """Record a group whose lengths differ; go on with what follows if there is none.

    Four records are left. Takes stack slots from number `slots` on, and returns their end.
    """
    b.label("mixed")
    group = Unlike(b, kernel, encrypts, slots)
    with b.part("mixed"):
        group.looked_at(record, "no")
        b.label("cipher")
        group.find_frame()
        group.first_row(record)
        for i in ALL:
            b.label(f"text_{i}")
            group.text_written(record, i)
        b.label("lengths")
        group.finished(record, 0, True)
        group.judged(record, 0)
    next_group(b, record, left, MESSAGES_AT_ONCE)
    b.emit("jump", Label("next"))
    with b.part("mixed"):
        group.cleared_where_wrong(record)
        b.label("no")
    return group.end


class Unlike(Neighbours):
    """What is recorded for such a group."""

    def __init__(self, b: Builder, kernel: GcmKernel, encrypts: bool, slots: int) -> None:
        self.lengths_of = [b.register("len", cls=RegClass.GPR) for _ in ALL]
        lengths = self.lengths_of[0], b.register("aad_len", cls=RegClass.GPR)
        super().__init__(b, kernel, b.params[0], encrypts, BLOCKS, slots, lengths)
        self.frame = self.end
        sizes = {STREAM: BLOCK_BYTES * BLOCKS, BLOCK: HASHED, ALONE: BLOCK_BYTES}
        self.begins, end = dict[str, int](), 0
        for what, size in sizes.items():
            self.begins[what] = end
            end += MESSAGES_AT_ONCE * size
        self.end += end // (BLOCK_BYTES * self.lanes)

    def looked_at(self, record: VReg, no: str) -> None:
        """Record the lengths and AAD of four messages; go to `no` if they are no group."""
        b = self.b
        b.assign(self.aad_length, read(b, record, "aad_len"))
        for i, length in enumerate(self.lengths_of):
            b.assign(length, read(b, record, "len", i))
            most = BLOCK_BYTES * (BLOCKS - 1) + 1
            b.branch("not_below", b.gpr("gpr_sub", length, BLOCK_BYTES), most, no)
            usual(b, record, i, self.encrypts, no)
            if i:
                b.branch("differs", read(b, record, "aad_len", i), self.aad_length, no)
        b.branch("equal", self.aad_length, 0, "look")
        b.branch("below", self.aad_length, min(AAD_PIECES), no)
        b.branch("not_below", self.aad_length, BLOCK_BYTES + 1, no)
        b.label("look")
        super()._gather(record, 0)
        self.find_frame()
        for c in self.columns:
            at = [self._in_frame(ALONE, BLOCK_BYTES * i) for i in self._messages(c)]
            self._apart(at, super()._aad(c))

    def _in_frame(
        self, what: str, disp: int, at: VReg | None = None, base: VReg | None = None
    ) -> Mem:
        """Return a place of the keystream, or of the blocks that are hashed."""
        return Mem(base=base or self.base, index=at, disp=self.begins[what] + disp, within=what)

    def find_frame(self) -> None:
        """Record the address of the keystream and the blocks. A step begins."""
        self.base = self.b.gpr("gpr_address", Slot(self.frame), note="keystream, blocks")

    def _write(self, record: VReg, column: int, block: int, state: VReg, last: VReg) -> None:
        stream = self.b.aes_last(state, last, "keystream")
        at = [BLOCK_BYTES * (BLOCKS * i + block - 1) for i in self._messages(column)]
        self._apart([self._in_frame(STREAM, disp) for disp in at], stream)

    def _places(self, length: VReg) -> tuple[VReg, VReg, list[tuple[VReg | None, int]]]:
        """Return the table of orders, the bytes before the last block, and where 16 bytes of each
        block begin: as a register, and what is to be added to it.
        """
        b = self.b
        before = b.gpr("gpr_and", b.gpr("gpr_sub", length, 1), -BLOCK_BYTES, note="16·(m - 1)")
        orders = b.gpr("gpr_address", b.const_bytes(PLACED, "placed"))
        inner = [
            b.gpr("gpr_load8", Mem(base=orders, index=before, disp=len(ORDERS) + k), note="place")
            for k in range(BLOCKS - 2)
        ]
        return orders, before, [(None, 0), *((at, 0) for at in inner), (length, -BLOCK_BYTES)]

    def text_written(self, record: VReg, i: int) -> None:
        """Record the text of a message, and its blocks for GHASH."""
        b, length = self.b, self.lengths_of[i]
        self.find_frame()
        b.about("AES")
        source, out = (read(b, record, word, i) for word in ("in", "out"))
        orders, before, places = self._places(length)
        given = [
            b.load(Mem(base=source, index=at, disp=d, within=IN_TEXT), "text")
            for at, d in places[:-1]
        ]
        # In one load, a proof would take the last byte of 16 for a block of one byte.
        halves = [
            b.load_part("load64", Mem(base=source, index=length, disp=-d, within=IN_TEXT), "text")
            for d in (BLOCK_BYTES, BLOCK_BYTES // 2)
        ]
        given.append(b.join_low(halves[0], halves[1], "its last 16 bytes"))
        # What is hashed of it has to be loaded at once, for the same reason.
        last = Mem(base=source, index=length, disp=-BLOCK_BYTES, within=IN_TEXT)
        hashing = [] if self.encrypts else [*given[:-1], b.load(last, "text")]
        first = BLOCK_BYTES * BLOCKS * i
        written = [
            b.xor(x, self._in_frame(STREAM, first + d, at), "the other text")
            for x, (at, d) in zip(given, places, strict=True)
        ]
        for x, (at, d) in zip(written, places, strict=True):
            b.store(Mem(base=out, index=at, disp=d, within=IN_TEXT), x, "written")
        order = [Mem(base=orders, index=before, disp=BLOCK_BYTES * k) for k in range(BLOCKS - 1)]
        # The last order is selected by the bytes of the last block.
        end = b.gpr("gpr_minus", orders, before)
        order.append(Mem(base=end, index=length, disp=BLOCK_BYTES * (BLOCKS - 2)))
        hashed = HASHED * i
        b.store(self._in_frame(BLOCK, hashed), b.zero("zeros"), "no block")
        for k, x in enumerate(hashing or written):
            C = b.shuffle_bytes(x, order[k], "C, zero-padded")
            b.store(self._in_frame(BLOCK, hashed + BLOCK_BYTES * (k + 1)), C, "C, put aside")
        begin = b.gpr("gpr_minus", self.base, before, note="before C_1")
        before_text = self._in_frame(BLOCK, hashed + BLOCK_BYTES * (BLOCKS - 1), base=begin)
        b.store(before_text, b.load(self._in_frame(ALONE, BLOCK_BYTES * i), "S"), "S, put aside")
        b.about("")

    def _gather(self, record: VReg, ahead: int) -> None:
        """AAD is already there."""
        self.find_frame()

    def _length_products(self, record: VReg) -> None:
        """The products depend on the column."""

    def _of_lengths(self, column: int) -> Mapping[str, Value]:
        both = [
            length_block(self.b, self.kernel, self.aad_length, self.lengths_of[i])
            for i in self._messages(column)
        ]
        bits = self._side_by_side(both, "both lengths")
        return self._products({}, bits, self._power(1))

    def _aad(self, column: int) -> VReg:
        return self._ciphertext(column, 0)

    def _ciphertext(self, column: int, block: int) -> VReg:
        at = [HASHED * i + BLOCK_BYTES * block for i in self._messages(column)]
        return self._side_by_side([self._in_frame(BLOCK, disp) for disp in at], "C")

    def _told(self, record: VReg, tags: Sequence[VReg]) -> None:
        if self.encrypts:
            super()._told(record, tags)
        else:
            self.b.label("tags")
            self.tags = tags

    def judged(self, record: VReg, ahead: int) -> None:
        """Record each verdict by itself: a proof forgets behind it what a message's length was."""
        b = self.b
        for i in () if self.encrypts else ALL:
            tags = self.tags[i // self.lanes]
            tag = last_lane(b, self.kernel, tags) if i % self.lanes else b.first_lane(tags)
            found = b.xor(tag, b.load(self._tag(record, i), "given"), "differences")
            both = b.or_(found, b.swap64(found), "all differences")
            report(b, record, DONE, i)
            b.branch("not_equal", b.to_gpr(both), 0, f"wrong_{i}")
            b.label(f"judged_{i}")

    def cleared_where_wrong(self, record: VReg) -> None:
        """Record what becomes of messages with a wrong tag: zeros for text, and their status."""
        b = self.b
        for i in () if self.encrypts else ALL:
            b.label(f"wrong_{i}")
            zeros, out = b.zero("zeros"), read(b, record, "out", i)
            for at, disp in self._places(self.lengths_of[i])[2]:
                b.store(Mem(base=out, index=at, disp=disp, within=IN_TEXT), zeros, "zeros")
            report(b, record, DIFFERS, i)
            b.emit("jump", Label(f"judged_{i}"))
