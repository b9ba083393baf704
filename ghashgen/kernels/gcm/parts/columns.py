"""Messages alike side by side in narrow registers, each in a lane of its own.

A group is a few columns: registers of L lanes, for L messages of m blocks each.

    lane            0              1
    column 0    message 0      message 1       J_0, AAD, C_1 … C_m: a register for each
    column 1    message 2      message 3       the same

So no lanes are added up, and one reduction serves a column. All messages have the same lengths of
text and AAD. Every m has its own code (`parts.many`), in which GHASH of a group runs beside the
cipher of the next. What a group leaves for that is on the stack.

A last block of r bytes is read and written as the last 16 bytes of its text, of which the first
16 - r belong to the block before. Its keystream is moved up to its place. The block before is
written later, and so are these bytes.
"""

from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import pairwise

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.ir.builder import Builder, Value
from ghashgen.ir.program import Label, Mem, RegClass, Slot, VReg
from ghashgen.kernels.aes.text import IN_TEXT
from ghashgen.kernels.bytes.exact import NOTHING
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.gcm.parts.alike import differing_lengths
from ghashgen.kernels.gcm.parts.ends import last_lane
from ghashgen.kernels.gcm.parts.fours import judged, numbered
from ghashgen.kernels.gcm.parts.params import DONE
from ghashgen.kernels.gcm.parts.records import place, read, report
from ghashgen.kernels.gcm.parts.side import SideBySide
from ghashgen.kernels.gcm.parts.start import FIRST, IV_BYTES, twelve_bytes
from ghashgen.kernels.hash.parts.interface import entries, key_sum, to_register

AAD_PIECES = (8, 4)
"""AAD is read as two pieces, which may overlap: of 8 bytes, or of 4 if it has fewer than 8."""

MOVED_UP = NOTHING + bytes(range(BLOCK_BYTES))
"""Orders of byte shuffles. Read at r, the first r bytes go to the end of the block."""

REVERSED = NOTHING + bytes(reversed(range(BLOCK_BYTES)))
"""The same for register form. Read at r, the last r bytes, zero-padded, their order reversed."""


def joined(count: int) -> bytes:
    """Return the order that makes `count` bytes, zero-padded, of their two pieces, one in each
    half. It reverses them, for register form.
    """
    piece = next((size for size in AAD_PIECES if size <= count), 0)
    places = [*range(piece), *range(8 + 2 * piece - count, 8 + piece)] if piece else []
    return NOTHING[len(places) :] + bytes(reversed(places))


JOINED = b"".join(map(joined, range(BLOCK_BYTES + 1)))
"""These orders by number of bytes."""


class Columns(SideBySide):
    """What is recorded for groups of messages of `blocks` blocks."""

    at_once: Mapping[int, int] = {1: 8, 2: 6}
    """Registers that go through the cipher side by side, at most, by lanes."""

    def __init__(
        self, b: Builder, kernel: GcmKernel, context: VReg, encrypts: bool, blocks: int, slots: int
    ) -> None:
        """Take stack slots from number `slots` on."""
        super().__init__(b, kernel, context, encrypts)
        self.lanes, self.blocks = kernel.lane_count, blocks
        self.columns = range(self.most(blocks) // self.lanes)
        self.count = self.lanes * len(self.columns)
        """Messages of a group."""
        self.end = slots

        def slot() -> Slot:
            self.end += 1
            return Slot(self.end - 1)

        self.words_of = [(word, b.register(word, cls=RegClass.GPR)) for word in ("len", "aad_len")]
        self.wrong = b.register("wrong", cls=RegClass.GPR)
        self.aad_order, self.moved_up, self.reversed = slot(), slot(), slot()
        self.lengths = {name: slot() for name in self.hashing.multiplier.accumulators}
        self.masks, self.aad = ([slot() for _ in self.columns] for _ in range(2))
        self.C = [[slot() for _ in range(blocks)] for _ in self.columns]
        self.differences = [slot() for _ in range(self.count)]
        self.given = dict[tuple[int, int], VReg]()
        """Texts that are read, and not yet written."""

    @staticmethod
    def most(blocks: int) -> int:
        """Return how many messages of so many blocks make a group."""
        return 4 if blocks < 4 else 2

    # -- the shape of a group ----------------------------------------------------------------

    def shape(self, record: VReg, rows: VReg, no: str) -> None:
        """Record the shape of the first message of a group; go to `no` if another has another."""
        b = self.b
        for word, register in self.words_of:
            b.assign(register, read(b, record, word))
        (_, length), (_, aad_length) = self.words_of
        b.branch("equal", aad_length, 0, "aad_fits")
        b.branch("below", aad_length, min(AAD_PIECES), no)
        b.branch("not_below", aad_length, BLOCK_BYTES + 1, no)
        b.label("aad_fits")
        self.fits(record, rows, no)
        last = b.gpr("gpr_and", b.gpr("gpr_sub", length, 1), BLOCK_BYTES - 1)
        last = b.gpr("gpr_add", last, 1, note="bytes of the last block")
        aad = b.gpr("gpr_shl", aad_length, 4)
        self._keep_order(self.aad_order, JOINED, "joined", aad)
        self._keep_order(self.moved_up, MOVED_UP, "moved_up", last)
        self._keep_order(self.reversed, REVERSED, "reversed", last)
        pair = b.load_spread(place(record, "len"), self.lanes, "both lengths")
        bits = b.shl64(pair, 3, "bits of both lengths")
        for name, product in self._products({}, bits, self._power(1)).items():
            b.store(self.lengths[name], product)

    def _keep_order(self, slot: Slot, table: bytes, name: str, at: VReg) -> None:
        b = self.b
        start = b.gpr("gpr_address", b.const_bytes(table, name))
        order = b.load_spread(Mem(base=start, index=at), self.lanes)
        b.store(slot, order, name)

    def fits(self, record: VReg, rows: VReg, no: str) -> None:
        """Go to `no` unless the next group has this shape."""
        b, which = self.b, range(self.count)
        differs = differing_lengths(b, record, which, self.words_of)
        for i in which:
            for word, size in (("iv_len", IV_BYTES), ("tag_len", BLOCK_BYTES)):
                if word == "iv_len" or not self.encrypts:
                    other = b.gpr("gpr_sub", read(b, record, word, i), size)
                    differs = b.gpr("gpr_or", differs, other)
        b.branch("not_equal", differs, 0, no)

    def load_constants(self, held: int) -> None:
        """Record what stays in registers from group to group: nothing."""

    # -- the cipher --------------------------------------------------------------------------

    def first_row(self, record: VReg) -> None:
        """Record the cipher over J_0 and the text."""
        b = self.b
        b.about("AES")
        # The last block comes first: it is written before the one before it.
        wanted = [(c, j) for c in self.columns for j in range(self.blocks, -1, -1)]
        bases: dict[int, VReg] = {}
        parts = -(-len(wanted) // self.at_once[self.lanes])
        ends = [len(wanted) * part // parts for part in range(parts + 1)]
        for begin, end in pairwise(ends):
            states, some = [], wanted[begin:end]
            for c, j in some:
                if c not in bases:
                    bases[c] = self._whitened(record, c)
                number = FIRST if j == 0 else numbered(j + 1)[0]
                value = b.const(number, f"number_{j + 1}")
                states.append(b.xor(bases[c], value, "IV || j, + k_0"))
            for i in range(1, self.keys.rounds):
                key = self.keys.key(i, self.lanes)
                states = [b.aes_round(state, key, f"round {i}") for state in states]
            last = self.keys.last(self.lanes)
            for (c, j), state in zip(some, states, strict=True):
                if j == 0:
                    b.store(self.masks[c], b.aes_last(state, last, "E_K(J_0)"), "E_K(J_0)")
                else:
                    self._write(record, c, j, state, last)
        b.about("")

    def _whitened(self, record: VReg, column: int) -> VReg:
        b = self.b
        ivs = [twelve_bytes(b, read(b, record, "iv", i), "iv") for i in self._messages(column)]
        return b.xor(self._side_by_side(ivs), self.keys.key(0, self.lanes), "(IV || 0) + k_0")

    def _text(self, record: VReg, column: int, block: int) -> VReg:
        places = [self._at(record, "in", i, block) for i in self._messages(column)]
        return self._side_by_side(places, "text")

    def _at(self, record: VReg, word: str, i: int, block: int) -> Mem:
        """Return the place of a block of a message, or of the last 16 bytes for its last block."""
        base = self._pointer(record, word, i)
        if block == self.blocks and block > 1:
            (_, length), _ = self.words_of
            return Mem(base=base, index=length, disp=-BLOCK_BYTES, within=IN_TEXT)
        return Mem(base=base, disp=BLOCK_BYTES * (block - 1), within=IN_TEXT)

    def _pointer(self, record: VReg, word: str, i: int) -> VReg:
        return read(self.b, record, word, i)

    def _write(self, record: VReg, column: int, block: int, state: VReg, last: VReg) -> None:
        b = self.b
        # The last 16 bytes are written over some of the block before, so both are read.
        for j in range(max(1, block - 1) if block == self.blocks else block, block + 1):
            if (column, j) not in self.given:
                self.given[column, j] = self._text(record, column, j)
        given = self.given.pop((column, block))
        if block == self.blocks and block > 1:
            keystream = b.aes_last(state, last, "keystream")
            moved = b.shuffle_bytes(keystream, b.load(self.moved_up, "", self.lanes), "moved up")
            written = b.xor(moved, given, "the other text")
        else:
            written = b.aes_last(state, b.xor(last, given, "k_Nr + text"), "the other text")
        self._apart([self._at(record, "out", i, block) for i in self._messages(column)], written)
        b.store(self.C[column][block - 1], written if self.encrypts else given, "C, put aside")

    # -- GHASH -------------------------------------------------------------------------------

    def finished(self, record: VReg, ahead: int, only: bool) -> None:
        """Record GHASH of the group `ahead` records on, its tags and statuses."""
        b, found = self.b, list[VReg]()
        self._gather(record, ahead)
        for c in self.columns:
            X = self._hashed(c)
            mask = b.load(self.masks[c], "E_K(J_0)", self.lanes)
            tags = b.xor(to_register(b, self.hashing, X, "as in memory"), mask, "tags")
            places = [self._tag(record, ahead + i) for i in self._messages(c)]
            if self.encrypts:
                self._apart(places, tags)
            else:
                differing = b.xor(tags, self._side_by_side(places, "given tags"), "differences")
                both = b.or_(differing, b.swap64(differing), "all differences")
                found.append(b.to_gpr(b.first_lane(both)))
                if self.lanes > 1:
                    found.append(b.to_gpr(last_lane(b, self.kernel, both)))
        for slot, difference in zip(self.differences, found, strict=False):
            b.emit("gpr_store64", slot, difference)
        if found:
            b.assign(self.wrong, reduce(lambda x, y: b.gpr("gpr_or", x, y), found))
        done = b.gpr("gpr_const", DONE)
        for i in range(self.count):
            report(b, record, done, ahead + i)
        b.about("")

    def _hashed(self, column: int) -> VReg:
        """Record GHASH of a column."""
        b, m = self.b, self.blocks
        sums = self._of_lengths(column)
        for i in range(m + 1):
            b.about(f"C{i}" if i else "AAD")
            A = self._ciphertext(column, i) if i else self._aad(column)
            sums = self._products(sums, A, self._power(m + 2 - i))
        b.about("tags")
        terms = key_sum(self.hashing, self.context, m + 2)
        R = None if terms is None else b.load_spread(terms, self.lanes, "the key terms")
        return self._reduced(sums, R)

    def _of_lengths(self, column: int) -> Mapping[str, Value]:
        """Return the products of the lengths."""
        return {name: self.b.load(slot, "", self.lanes) for name, slot in self.lengths.items()}

    def _gather(self, record: VReg, ahead: int) -> None:
        """Record the loads of AAD, and put it aside."""
        b, _, (_, length) = self.b, *self.words_of
        labels = [f"aad_under_{size}" for size in AAD_PIECES]
        for size, label in zip(AAD_PIECES, labels, strict=True):
            b.branch("below", length, size, label)
            for c in self.columns:
                blocks = [self._pieces(record, ahead + i, size) for i in self._messages(c)]
                b.store(self.aad[c], self._side_by_side(blocks), "AAD, put aside")
            b.emit("jump", Label("gathered"))
            b.label(label)
        b.label("gathered")

    def _pieces(self, record: VReg, i: int, size: int) -> VReg:
        b, load, (_, (_, length)) = self.b, f"load{8 * size}", self.words_of
        aad = read(b, record, "aad", i)
        first = b.load_part(load, Mem(base=aad, within="aad"), f"AAD, its first {size} bytes")
        last = Mem(base=aad, index=length, disp=-size, within="aad")
        return b.join_low(first, b.load_part(load, last, f"its last {size} bytes"))

    def _aad(self, column: int) -> VReg:
        b = self.b
        pieces = b.load(self.aad[column], "AAD", self.lanes)
        return b.shuffle_bytes(pieces, b.load(self.aad_order, "", self.lanes), "S")

    def _ciphertext(self, column: int, block: int) -> VReg:
        b = self.b
        C = b.load(self.C[column][block - 1], "C", self.lanes)
        if block == self.blocks and block > 1:
            return b.shuffle_bytes(C, b.load(self.reversed, "", self.lanes), "C, zero-padded")
        return to_register(b, self.hashing, C, "C")

    def judged(self, record: VReg, ahead: int) -> None:
        """Record what becomes of messages with a wrong tag: no text, and their status."""
        if self.encrypts:
            return
        b = self.b
        b.branch("equal", self.wrong, 0, "all_right")
        b.emit("gpr_const", self.wrong, 0)
        for slot in reversed(self.differences):
            found = b.gpr("gpr_load64", slot)
            top = b.gpr("gpr_or", found, b.gpr("gpr_neg", found), note="top bit: it differs")
            bit = b.gpr("gpr_shr", top, 63)
            b.assign(self.wrong, b.gpr("gpr_or", b.gpr("gpr_shl", self.wrong, 1), bit))
        judged(b, self.kernel, record, ahead, self.wrong, 1)
        b.label("all_right")

    def _power(self, power: int) -> list[Value]:
        """Return the entries of a power in every lane."""
        found = entries(self.hashing, self.context, power)
        if self.lanes == 1:
            return found
        name = f"H^{power}"
        return [self.b.load_spread(m, self.lanes, name) for m in found if isinstance(m, Mem)]

    # -- lanes -------------------------------------------------------------------------------

    def _messages(self, column: int) -> range:
        return range(self.lanes * column, self.lanes * (column + 1))

    def _side_by_side(self, blocks: Sequence[Value], note: str = "") -> VReg:
        b, first = self.b, blocks[0]
        out = b.load(first, note) if isinstance(first, Mem) else first
        for lane, block in enumerate(blocks[1:], 1):
            out = b.insert_lane(out, lane, block, self.lanes, note)
        return out

    def _apart(self, places: Sequence[Mem], value: VReg) -> None:
        """Record the store of each lane at its place."""
        b = self.b
        b.store(places[0], b.first_lane(value), "written")
        for lane, at in enumerate(places[1:], 1):
            b.emit("store_lane", at, value, lane, note="written")
