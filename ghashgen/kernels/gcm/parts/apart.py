"""Groups of four messages alike, for kernels that are proved.

Of one row, the cipher of a group runs beside GHASH of the one before, of which registers hold the
ciphertext, the AAD and E_K(J_0), and nothing of its hash. Of several rows, each group is finished
before the next one begins. Labels keep the steps apart: a proof has an assertion at each.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.ir.builder import Builder, Value
from ghashgen.ir.program import Label, Mem, RegClass, Slot, VReg
from ghashgen.kernels.aes.cipher import RoundKeys
from ghashgen.kernels.aes.text import IN_TEXT
from ghashgen.kernels.gcm.kernel import MESSAGES_AT_ONCE, GcmKernel
from ghashgen.kernels.gcm.parts.alike import SWAPPED, Alike, AlikeBlocks, AlikeRows, swapped_mask
from ghashgen.kernels.gcm.parts.fours import ALL, LANES, ROW_BYTES, most_rows, numbered
from ghashgen.kernels.gcm.parts.lengths import length_block
from ghashgen.kernels.gcm.parts.params import DIFFERS, DONE
from ghashgen.kernels.gcm.parts.plan import choose
from ghashgen.kernels.gcm.parts.quads import quad
from ghashgen.kernels.gcm.parts.records import WORD_BYTES, read, report
from ghashgen.kernels.gcm.parts.side import next_group, usual
from ghashgen.kernels.gcm.parts.start import FIRST, IV_BYTES
from ghashgen.kernels.hash.parts.interface import entries, in_register, to_register

SIDE_BY_SIDE = b"".join(
    swapped_mask(count).to_bytes(2, "little") * LANES for count in range(BLOCK_BYTES + 1)
)
"""The masks of four blocks of as many bytes each, by that number."""

MOST_ROWS = 4
"""Rows of the longest messages in a group. Each number of rows has code of its own."""

HELD = {2: 9, 3: 5, 4: 1}
"""Round keys in registers, by rows: as many as are free beside the ciphertext of a group."""


def groups_apart(b: Builder, kernel: GcmKernel, record: VReg, left: Slot, encrypts: bool) -> None:
    """Record groups of messages alike; go to `mixed` for four that are not, and to `one` for a
    message that begins no group.
    """

    def count() -> VReg:
        return b.gpr("gpr_load64", left)

    b.branch("below", count(), MESSAGES_AT_ONCE, "one")
    lengths = [b.register(word, cls=RegClass.GPR) for word in ("len", "aad_len")]
    for register, word in zip(lengths, ("len", "aad_len"), strict=True):
        b.assign(register, read(b, record, word))
    # Ranges first: with all these comparisons a message of 512 bytes takes 4% more time.
    most = min(MOST_ROWS, most_rows(kernel))
    b.branch("not_below", b.gpr("gpr_sub", lengths[0], 1), ROW_BYTES * most, "one")
    b.branch("not_below", lengths[1], BLOCK_BYTES + 1, "one")
    usual_and_alike(b, record, lengths, encrypts, "mixed")

    def woven(name: str, kind: Callable[..., Apart], held: int) -> None:
        fours = kind(b, kernel, b.params[0], encrypts)
        with b.part(name):
            fours.keys_of(lengths[0])
            fours.load_constants(held)
        # A proof forgets here what it knows of the first group.
        b.branch("below", count(), MESSAGES_AT_ONCE, "one")
        usual_and_alike(b, record, lengths, encrypts, "one")
        with b.part(name):
            woven_groups(fours, record, left, lengths)
        b.emit("jump", Label("next"))
        with b.part(f"{name}_last"):
            fours.cleared_where_wrong(record, -MESSAGES_AT_ONCE, lengths[0])

    def groups(name: str, kind: Callable[..., Apart], held: int) -> None:
        with b.part(name):
            fours = kind(b, kernel, b.params[0], encrypts)
            fours.keys_of(lengths[0])
            fours.load_constants(held)
            b.emit("jump", Label("first"))
            with b.loop("group"):
                b.branch("below", count(), MESSAGES_AT_ONCE, "no")
                usual_and_alike(b, record, lengths, encrypts, "no")
                b.label("first")
                fours.read_aad(record, lengths[1], "read")
                b.label("read")
                fours.rows_written(record, lengths[0])
                fours.hashed(record, lengths, fours.S)
                fours.finished(record, 0, False)
                fours.verdicts(record, 0)
                next_group(b, record, left, MESSAGES_AT_ONCE)
                b.emit("jump", Label("group"))
                fours.cleared_where_wrong(record, 0, lengths[0])
            b.label("no")
        b.emit("jump", Label("next"))

    kinds = {1: partial(woven, "block", BlocksApart, 11)}
    kinds[BLOCK_BYTES + 1] = partial(woven, "alike", Apart, 8)
    for rows in range(2, most + 1):
        kind = partial(RowsApart, rows=rows)
        kinds[ROW_BYTES * (rows - 1) + 1] = partial(groups, f"rows_{rows}", kind, HELD[rows])
    choose(b, lengths[0], kinds, lambda least: f"from_{least}", lambda n: (n + 1) // 2)


def woven_groups(fours: "Apart", record: VReg, left: Slot, lengths: Sequence[VReg]) -> None:
    """Record groups of one row, each ciphered beside GHASH of the one before.

    `record` is the group that is ciphered next. Of the one before, its blocks, AAD and E_K(J_0) are
    in registers, and nothing of its hash: a proof has an assertion there.
    """
    b, size = fours.b, MESSAGES_AT_ONCE
    length, aad_length = lengths
    before = b.register("S before", LANES)

    def rounds() -> list[VReg]:
        b.about("AES")
        found = fours.first_rounds(record)
        b.about("")
        return found

    def written(states: Sequence[VReg]) -> None:
        fours.row_masks(length)
        b.about("AES")
        fours.written_first(record, states)
        b.about("")
        b.assign(before, fours.S)
        next_group(b, record, left, size)

    def hashed(ahead: int) -> None:
        fours.hashed(record, lengths, before)
        fours.finished(record, ahead, True)

    fours.read_aad(record, aad_length, "first")
    b.label("first")
    written(rounds())
    with b.loop("group"):
        b.branch("below", b.gpr("gpr_load64", left), size, "no")
        usual_and_alike(b, record, lengths, fours.encrypts, "no")
        fours.read_aad(record, aad_length, "read")
        b.label("read")
        with fours.stream("hash", 0.0, 0.85):
            hashed(-size)
        with fours.stream("cipher", 0.0, 1.0):
            states = rounds()
        written(states)
        fours.verdicts(record, -2 * size)
        b.emit("jump", Label("group"))
        fours.cleared_where_wrong(record, -2 * size, length)
        b.label("no")
    with b.part("last"):
        hashed(-size)
        fours.verdicts(record, -size)


def usual_and_alike(
    b: Builder, record: VReg, lengths: Sequence[VReg], encrypts: bool, no: str
) -> None:
    """Record that four messages have these lengths, and usual IVs and tags; go to `no` if not.

    Each length is compared by a branch: a proof follows branches, and no OR of differences, as
    `alike.differing_lengths` records.
    """
    for i in ALL:
        usual(b, record, i, encrypts, no)
        for word, register in zip(("len", "aad_len"), lengths, strict=True):
            b.branch("differs", read(b, record, word, i), register, no)


class Apart(Alike):
    """The registers of such groups."""

    rows = 1
    """Rows of each message."""

    def __init__(self, b: Builder, kernel: GcmKernel, context: VReg, encrypts: bool) -> None:
        super().__init__(b, kernel, context, encrypts)
        self.S, self.tags = (b.register(name, LANES) for name in ("S", "tags"))

    def read_aad(self, record: VReg, length: VReg, done: str) -> None:
        """Record the four AAD, side by side in a register; go to `done` at once if there are none.

        Their pointers may be null then: a masked load there is slow, even if it loads nothing. The
        first is read anyway: so a proof asks before `done` which message it follows.
        """
        b = self.b
        b.about("AAD")
        first = read(b, record, "aad")
        b.emit("zero", self.S)
        b.branch("equal", length, 0, done)
        b.emit("mask", self.aad, b.gpr("gpr_low", b.gpr("gpr_const64", -1), length))
        blocks = [self.few("aad", read(b, record, "aad", i) if i else first, self.aad) for i in ALL]
        b.assign(self.S, to_register(b, self.hashing, quad(b, blocks), "S"))
        b.about("")

    def rows_written(self, record: VReg, length: VReg) -> None:
        """Record the cipher over all rows."""
        self.row_masks(length)
        self.first_row(record)

    def hashed(self, record: VReg, lengths: Sequence[VReg], S: VReg) -> None:
        """Record the products of AAD and of lengths."""
        b, (length, aad_length) = self.b, lengths
        b.about("AAD, lengths")
        near = entries(self.hashing, self.context, 1)
        products = self._products({}, length_block(b, self.kernel, aad_length, length), near)
        sums: Mapping[str, Value] = {
            name: b.spread_lane(in_register(half), LANES) for name, half in products.items()
        }
        sums = self._products(sums, S, self.far_keys())
        for name, register in self.sums.items():
            b.assign(register, in_register(sums[name]))
        b.about("")

    def told(self, record: VReg, ahead: int, tags: VReg) -> None:
        """Record the stores of tags; or put them aside."""
        if self.encrypts:
            super().told(record, ahead, tags)
        else:
            self.b.assign(self.tags, tags)

    def verdicts(self, record: VReg, ahead: int) -> None:
        """Record each verdict by itself, if there are any, and the way to what follows it.

        Where a proof stands behind a verdict, of that group only the tags are in registers.
        """
        b = self.b
        if self.encrypts:
            return
        b.label("tags")
        for i in ALL:
            given = b.load(self._tag(record, ahead + i), "given")
            found = b.xor(b.lane(self.tags, i), given, "differences")
            both = b.or_(found, b.swap64(found), "all differences")
            report(b, record, DONE, ahead + i)
            b.branch("not_equal", b.to_gpr(both), 0, f"wrong_{i}")
            b.label(f"judged_{i}")

    def cleared_where_wrong(self, record: VReg, ahead: int, length: VReg) -> None:
        """Record what becomes of messages with a wrong tag: zeros for text, and their status."""
        b = self.b
        for i in () if self.encrypts else ALL:
            b.label(f"wrong_{i}")
            zeros = b.register("zeros", LANES)
            b.emit("zero", zeros)
            self.clear(read(b, record, "out", ahead + i), length, zeros)
            report(b, record, DIFFERS, ahead + i)
            b.emit("jump", Label(f"judged_{i}"))

    def clear(self, out: VReg, length: VReg, zeros: VReg) -> None:
        """Record the stores of zeros for a text."""
        b, place = self.b, Mem(base=out, within=IN_TEXT)
        b.emit("mask", self.present[0], b.gpr("gpr_low", b.gpr("gpr_const64", -1), length))
        b.emit("store_masked", place, self.present[0], zeros, note="zeros")


class BlocksApart(Apart, AlikeBlocks):
    """The same for messages of at most one block: the four texts share a register."""

    def row_masks(self, length: VReg) -> None:
        """Record which bytes the blocks have: alone, and four side by side."""
        b = self.b
        b.emit("mask", self.present[0], b.gpr("gpr_low", b.gpr("gpr_const64", -1), length))
        table = b.gpr("gpr_address", b.const_bytes(SIDE_BY_SIDE, "side_by_side"))
        b.emit("load_mask", self.swapped, Mem(base=table, index=length, scale=8))


class RowsApart(Apart):
    """The same for messages of several rows. All are whole but the last."""

    def __init__(
        self, b: Builder, kernel: GcmKernel, context: VReg, encrypts: bool, rows: int
    ) -> None:
        super().__init__(b, kernel, context, encrypts)
        self.rows = rows

    def keys_of(self, length: VReg) -> None:
        """Leave the powers in memory."""

    def row_masks(self, length: VReg) -> None:
        """Record what depends on the length: where the powers are, and the last row's bytes."""
        super().keys_of(length)
        table = self.b.gpr("gpr_address", self.b.const_bytes(SWAPPED, "swapped_masks"))
        before = ROW_BYTES * (self.rows - 1)
        ones, some = self.b.gpr("gpr_const64", -1), self.b.gpr("gpr_sub", length, before)
        self.b.emit("mask", self.present[0], self.b.gpr("gpr_low", ones, some))
        place = Mem(base=table, index=length, scale=8, disp=-WORD_BYTES * before)
        self.b.emit("load_mask", self.swapped, place)

    def rows_written(self, record: VReg, length: VReg) -> None:
        """Record the cipher over all rows. A proof goes through the lengths at the last one."""
        b, keys = self.b, self.keys
        ivs = list[VReg]()
        self.C: list[list[VReg]] = []
        for row in range(self.rows):
            b.about(f"AES, row {row + 1}")
            last = row == self.rows - 1
            if last:
                b.label("last_row")
                self.row_masks(length)
            if last or not row:
                ivs = [self._iv(record, i) for i in ALL]
            white = self._white(2 + LANES * row)
            states = [b.xor(iv, white, "IV || j, + k_0") for iv in ivs]
            if row:
                states = self._rounds(states)
            else:
                J0 = b.xor(quad(b, ivs), self._white(1), "J_0 + k_0")
                J0, *states = self._rounds([J0, *states])
                b.assign(self.mask, b.aes_last(J0, keys.last(LANES), "E_K(J_0)"))
            self.C.append(self._row_written(record, row, states, last))
        b.about("")
        b.label("written")

    def _white(self, first: int) -> VReg:
        """Record the numbers of counter blocks, or of four J_0, with the first round key."""
        numbers = [FIRST] * LANES if first == 1 else numbered(first)
        constant = self.b.const_lanes(numbers, f"numbers_{first}")
        return self.b.xor(self.keys.key(0, LANES), constant, "numbers, + k_0")

    def _row_written(
        self, record: VReg, row: int, states: Sequence[VReg], last: bool
    ) -> list[VReg]:
        """Record the text of a row; return its ciphertext in register form."""
        b, out = self.b, list[VReg]()
        key = self.keys.last(LANES)
        for i, state in enumerate(states):
            source, place = (
                Mem(base=read(b, record, word, i), disp=ROW_BYTES * row, within=IN_TEXT)
                for word in ("in", "out")
            )
            given = self._masked(i, source) if last else b.load(source, "text", LANES)
            written = b.aes_last(state, b.xor(key, given, "k_Nr + text"), "the other text")
            if last:
                b.emit("store_masked", place, self.present[0], written, note="written")
            else:
                b.store(place, written, "written")
            C = written if self.encrypts else given
            out.append(self.padded(i, C) if last else to_register(b, self.hashing, C, "C"))
        return out

    def load_constants(self, held: int) -> None:
        """Record what stays in registers from group to group."""
        self.keys = RoundKeys(self.b, self.kernel, self.context, range(held))
        twelve = self.b.gpr("gpr_const", (1 << IV_BYTES) - 1)
        self.b.emit("mask", self.iv_bytes, twelve, note="12 bytes")

    first_keys, far_keys = AlikeRows.first_keys, AlikeRows.far_keys

    def clear(self, out: VReg, length: VReg, zeros: VReg) -> None:
        """Record the stores of zeros for a text; the last one may overlap the one before.

        Without a mask, a proof goes through lengths here only for the message that it follows.
        """
        places = [Mem(base=out, disp=ROW_BYTES * row) for row in range(self.rows - 1)]
        places.append(Mem(base=out, index=length, disp=-ROW_BYTES))
        for place in places:
            self.b.store(replace(place, within=IN_TEXT), zeros, "zeros")

    def totals(self, only: bool) -> Mapping[str, Value]:
        """Record the sums of four messages, one in each lane. Each pair loads the powers again."""
        return self.added_up(map(self._pair, ALL[::2]))

    def _pair(self, first: int) -> list[Mapping[str, Value]]:
        sums: list[Mapping[str, Value]] = [{}, {}]
        for row, blocks in enumerate(self.C):
            powers = entries(self.hashing, self.begin, 1 - LANES * row)
            keys = [self.b.load(m, "H^(m+1) …", LANES) for m in powers if isinstance(m, Mem)]
            pair = blocks[first : first + 2]
            sums = [self._products(acc, C, keys) for acc, C in zip(sums, pair, strict=True)]
        return sums
