"""Four messages side by side: the cipher over a row of each, woven with GHASH of the row before.

A row is 64 bytes of each message, one register each; the last row may be shorter. All four have the
same number of rows. J_0, AAD, lengths and tags are lanes of shared registers:

    cipher    E_K(J_0) of four messages     row 1, row 2, … of each     next group
    hash      the group before, its tags    AAD, lengths     row 1, …   row R, tags

    X_i = AAD_i·H^(m+2) + C_1·H^(m+1) + … + C_m·H^2 + lengths_i·H       m blocks, four a row

Each message has its accumulators, one power in each lane. At the end their lanes are added up by
transposition, so that lane i belongs to message i, and one reduction serves all four.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.ir.builder import Builder, Value
from ghashgen.ir.program import Mem, RegClass, Slot, VReg
from ghashgen.kernels.aes.cipher import RoundKeys
from ghashgen.kernels.aes.text import IN_TEXT
from ghashgen.kernels.gcm.kernel import MESSAGES_AT_ONCE, GcmKernel
from ghashgen.kernels.gcm.parts.clear import clear
from ghashgen.kernels.gcm.parts.params import DIFFERS, DONE
from ghashgen.kernels.gcm.parts.quads import half_sums, quad, quarter_sums, store_lanes
from ghashgen.kernels.gcm.parts.records import RECORD_BYTES, place, read, report
from ghashgen.kernels.gcm.parts.side import SideBySide
from ghashgen.kernels.gcm.parts.start import FIRST, IV_BYTES
from ghashgen.kernels.hash.parts.interface import entries, in_register, to_register

ALL = range(MESSAGES_AT_ONCE)
LANES = 4
ROW_BYTES = BLOCK_BYTES * LANES

MASKS = tuple(Slot(1 + i) for i in ALL)
"""Stack slots: which bytes of its last row a message has."""


def numbered(first: int) -> list[int]:
    """Return a register's counters from `first`, as a block has them: in its last four bytes."""
    return [int.from_bytes(bytes(12) + (first + i).to_bytes(4, "big"), "little") for i in range(4)]


def most_rows(kernel: GcmKernel) -> int:
    """Return the rows of the longest message in a group: its powers are in the table."""
    return (kernel.layout.top - 2) // LANES


def rows_of_group(
    b: Builder, kernel: GcmKernel, record: VReg, rows: VReg, encrypts: bool, no: str
) -> None:
    """Record the number of rows of the next four messages; go to `no` if they make no group."""
    for i in ALL:
        b.branch("not_equal", read(b, record, "iv_len", i), IV_BYTES, no)
        b.branch("not_below", read(b, record, "aad_len", i), BLOCK_BYTES + 1, no)
        # A masked load at a null pointer is slow, even if it loads nothing.
        b.branch("equal", read(b, record, "aad", i), 0, no)
        if not encrypts:
            b.branch("not_equal", read(b, record, "tag_len", i), BLOCK_BYTES, no)
    first = b.gpr("gpr_sub", read(b, record, "len"), 1)
    b.branch("not_below", first, ROW_BYTES * most_rows(kernel), no)
    for i in ALL[1:]:
        other = b.gpr("gpr_sub", read(b, record, "len", i), 1)
        b.branch("not_below", b.gpr("gpr_xor", other, first), ROW_BYTES, no)
    b.assign(rows, b.gpr("gpr_add", b.gpr("gpr_shr", first, 6), 1, note="rows"))


def judged(b: Builder, kernel: GcmKernel, record: VReg, ahead: int, wrong: VReg, bits: int) -> None:
    """Record what becomes of messages with a wrong tag: no text, and their status.

    `wrong` has so many bits for each message, of which one is set if its tag is wrong. Changes it.
    """
    at = b.register("at", cls=RegClass.GPR)
    b.assign(at, b.gpr("gpr_address", Mem(base=record, disp=RECORD_BYTES * ahead)))
    b.label("wrong")
    b.branch("equal", b.gpr("gpr_and", wrong, (1 << bits) - 1), 0, "not_this")
    out, length = (b.gpr("gpr_copy", read(b, at, word)) for word in ("out", "len"))
    with b.part("clear"):
        clear(b, kernel, out, length)
    report(b, at, DIFFERS)
    b.label("not_this")
    b.assign(at, b.gpr("gpr_add", at, RECORD_BYTES))
    b.assign(wrong, b.gpr("gpr_shr", wrong, bits))
    b.branch("not_equal", wrong, 0, "wrong")


class Fours(SideBySide):
    """The registers of a group of four and of the group before, and what is recorded with them."""

    def __init__(self, b: Builder, kernel: GcmKernel, context: VReg, encrypts: bool) -> None:
        super().__init__(b, kernel, context, encrypts)
        self.count = MESSAGES_AT_ONCE
        names = self.hashing.multiplier.accumulators
        self.acc = [{name: b.register(name, LANES) for name in names} for _ in ALL]
        self.sums = {name: b.register(f"{name}, AAD and lengths", LANES) for name in names}
        self.blocks = [b.register("C", LANES) for _ in ALL]
        self.mask = b.register("E_K(J_0)", LANES)
        self.ivs = [b.register("IV || 0", LANES) for _ in ALL]
        self.numbers = b.register("numbers", LANES)
        self.white = [b.register(f"numbers from {first}, + k_0", LANES) for first in (1, 2)]
        self.at = [b.register("at", cls=RegClass.GPR) for _ in ALL]
        """The context, less 16 bytes for each block that is left: H^(m+1) stands where H would."""
        self.present = [b.register("present", cls=RegClass.MASK) for _ in ALL]
        self.iv_bytes = b.register("IV", cls=RegClass.MASK)
        self.wrong = b.register("wrong", cls=RegClass.GPR)
        """Two bits for each message; none is set if its tag is right."""
        self.source = [b.register("in", cls=RegClass.GPR) for _ in ALL]
        self.out = [b.register("out", cls=RegClass.GPR) for _ in ALL]

    # -- the shape of a group ----------------------------------------------------------------

    def shape(self, record: VReg, rows: VReg, no: str) -> None:
        """Record what the first group needs; go to `no` if it is not of this kind."""
        self.masks(record, rows)

    def fits(self, record: VReg, rows: VReg, no: str) -> None:
        """Record what the next group needs; go to `no` if it does not follow on."""
        rows_of_group(self.b, self.kernel, record, rows, self.encrypts, no)
        with self.b.part("next"):
            self.masks(record, rows)

    def masks(self, record: VReg, rows: VReg) -> None:
        """Record which bytes the first rows have, and put aside those of the last rows."""
        b = self.b
        ones = b.gpr("gpr_const64", -1)
        for i, present in enumerate(self.present):
            last = b.gpr("gpr_and", b.gpr("gpr_sub", read(b, record, "len", i), 1), ROW_BYTES - 1)
            some = b.gpr("gpr_low", ones, b.gpr("gpr_add", last, 1), note="bytes of the last row")
            b.emit("gpr_store64", MASKS[i], some)
            b.emit("mask", present, some)
        b.branch("below", rows, 2, "one_row")
        for present in self.present:
            b.emit("mask", present, ones)
        b.label("one_row")

    def last_masks(self) -> None:
        """Record which bytes the last rows have."""
        for present, slot in zip(self.present, MASKS, strict=True):
            self.b.emit("load_mask", present, slot)

    def load_constants(self, held: int) -> None:
        """Record what stays in registers from group to group; `held` round keys are part of it."""
        b = self.b
        self.keys = RoundKeys(b, self.kernel, self.context, range(held))
        b.emit("mask", self.iv_bytes, b.gpr("gpr_const", (1 << IV_BYTES) - 1), note="12 bytes")
        k_0 = self.keys.key(0, LANES)
        ones = b.const_lanes([FIRST] * LANES, "first_numbers")
        b.assign(self.white[0], b.xor(k_0, ones, "numbers of J_0, + k_0"))
        b.assign(self.white[1], b.xor(k_0, self.first_numbers(), "numbers, + k_0"))

    def first_numbers(self) -> Value:
        """Return the numbers of the first row's counter blocks."""
        return self.b.const_lanes(numbered(2), "numbers_2")

    # -- the cipher --------------------------------------------------------------------------

    def first_row(self, record: VReg) -> None:
        """Record the cipher over J_0 and the first row of four messages."""
        self.b.about("AES")
        self.written_first(record, self.first_rounds(record))
        self.b.about("")

    def first_rounds(self, record: VReg) -> list[VReg]:
        """Record all rounds but the last, of J_0 and of the first row."""
        b = self.b
        ivs = [self._iv(record, i) for i in ALL]
        J0 = b.xor(quad(b, ivs, "IV || 0"), self.white[0], "J_0 + k_0")
        states = [b.xor(iv, self.white[1], "IV || j, + k_0") for iv in ivs]
        return self._rounds([J0, *states])

    def written_first(self, record: VReg, rounds: Sequence[VReg]) -> None:
        """Record the last round, the first row's text and E_K(J_0)."""
        b, (J0, *states), last = self.b, rounds, self.keys.last(LANES)
        self._write(
            states, last, lambda i: read(b, record, "in", i), lambda i: read(b, record, "out", i)
        )
        b.assign(self.mask, b.aes_last(J0, last, "E_K(J_0)"))

    def _iv(self, record: VReg, i: int) -> VReg:
        # A broadcast with a mask may read all 16 bytes.
        iv = self.few("iv", read(self.b, record, "iv", i), self.iv_bytes)
        return self.b.spread_lane(iv, LANES)

    def few(self, word: str, at: VReg, mask: VReg) -> VReg:
        """Record the bytes of a mask at an address, at most 16, zero-padded."""
        out = self.b.register(word)
        place_ = Mem(base=at, within=IN_TEXT if word == "in" else word)
        self.b.emit("load_masked", out, mask, place_, note=word)
        return out

    def _rounds(self, states: Sequence[VReg]) -> list[VReg]:
        out = [*states]
        for i in range(1, self.keys.rounds):
            key = self.keys.key(i, LANES)
            out = [self.b.aes_round(state, key, f"round {i}") for state in out]
        return out

    def more_rows(self, record: VReg, ahead: int) -> None:
        """Record what the rows after the first need of the group `ahead` records on."""
        b = self.b
        b.emit("copy", self.numbers, b.const_lanes(numbered(2), "numbers_2"))
        for i, iv in enumerate(self.ivs):
            b.assign(iv, self._iv(record, ahead + i))
        for i in ALL:
            b.assign(self.source[i], read(b, record, "in", ahead + i))
            b.assign(self.out[i], read(b, record, "out", ahead + i))

    def next_row(self) -> None:
        """Record the cipher over another row."""
        b, keys = self.b, self.keys
        b.about("AES")
        four = int.from_bytes(bytes(15) + bytes([LANES]), "little")
        more = b.add32(self.numbers, b.const_lanes([four] * LANES, "four_more"), "the next numbers")
        b.assign(self.numbers, more)
        for pointer in (*self.source, *self.out):
            b.assign(pointer, b.gpr("gpr_add", pointer, ROW_BYTES))
        numbers = b.xor(self.numbers, keys.key(0, LANES), "numbers + k_0")
        states = [b.xor(iv, numbers, "IV || j, + k_0") for iv in self.ivs]
        states = self._rounds(states)
        last = keys.last(LANES)
        self._write(states, last, self.source.__getitem__, self.out.__getitem__)
        b.about("")

    def _write(
        self,
        states: Sequence[VReg],
        last: VReg,
        source: Callable[[int], VReg],
        out: Callable[[int], VReg],
    ) -> None:
        b = self.b
        given = [self._masked(i, self._text(source(i))) for i in ALL]
        written = [
            b.aes_last(state, b.xor(last, text, "k_Nr + text"), "the other text")
            for state, text in zip(states, given, strict=True)
        ]
        for i in ALL:
            place_ = self._text(out(i))
            b.emit("store_masked", place_, self.present[i], written[i], note="written")
        for i, C in enumerate(written if self.encrypts else given):
            b.assign(self.blocks[i], self.padded(i, C))

    def padded(self, i: int, C: VReg) -> VReg:
        """Record ciphertext in register form, zero-padded."""
        b = self.b
        if self.encrypts:
            whole, C = C, b.register("C", LANES)
            b.emit("masked", C, self.present[i], whole, note="zero-padded")
        return to_register(b, self.hashing, C, "C")

    def _masked(self, i: int, source: Mem) -> VReg:
        given = self.b.register("text", LANES)
        self.b.emit("load_masked", given, self.present[i], source, note="text")
        return given

    @staticmethod
    def _text(pointer: VReg) -> Mem:
        return Mem(base=pointer, within=IN_TEXT)

    # -- GHASH -------------------------------------------------------------------------------

    def row_hashed(self) -> None:
        """Record the products of a row that is not the last."""
        b = self.b
        b.about("C")
        keys = self.row_keys()
        for i, acc in enumerate(self.acc):
            sums = self._products(acc, self.blocks[i], keys[i])
            for name, register in acc.items():
                b.assign(register, sums[name])
        self.row_done()
        b.about("")

    def row_keys(self) -> Sequence[Sequence[Value]]:
        """Return the powers for a row of each message."""
        return [entries(self.hashing, at, 1) for at in self.at]

    def row_done(self) -> None:
        """Record the places of the next row's powers."""
        for at in self.at:
            self.b.assign(at, self.b.gpr("gpr_add", at, ROW_BYTES))

    def cleared(self) -> None:
        """Record empty sums, for the rows to come."""
        for acc in self.acc:
            for register in acc.values():
                self.b.emit("zero", register)

    def finished(self, record: VReg, ahead: int, only: bool) -> None:
        """Record the last products of the group `ahead` records on, its tags and statuses.

        `only`: its last row is its only one.
        """
        b = self.b
        b.about("C")
        acc = self.totals(only)
        b.about("tags")
        X = to_register(b, self.hashing, self._reduced(acc), "as in memory")
        tags = b.xor(X, self.mask, "tags")
        self.told(record, ahead, tags)
        b.about("")

    def told(self, record: VReg, ahead: int, tags: VReg) -> None:
        """Record the stores of tags, or which are not the given ones; and statuses."""
        b = self.b
        if self.encrypts:
            store_lanes(b, lambda i: self._tag(record, ahead + i), tags)
        else:
            given = quad(b, [b.load(self._tag(record, ahead + i)) for i in ALL], "given tags")
            differing = b.mask("differing", tags, given, note="two bits for each message")
            b.assign(self.wrong, b.gpr("mask_bits", differing))
        done = b.gpr("gpr_const", DONE)
        for i in ALL:
            report(b, record, done, ahead + i)

    def judged(self, record: VReg, ahead: int) -> None:
        """Record what becomes of messages with a wrong tag: no text, and their status."""
        if self.encrypts:
            return
        self.b.branch("equal", self.wrong, 0, "right")
        judged(self.b, self.kernel, record, ahead, self.wrong, 2)
        self.b.label("right")

    def totals(self, only: bool) -> Mapping[str, Value]:
        """Record the sums of four messages, one in each lane."""
        keys = self.row_keys()

        def one(j: int) -> Mapping[str, Value]:
            return self._products({} if only else self.acc[j], self.blocks[j], keys[j])

        return self.added_up([one(i), one(i + 1)] for i in ALL[::2])

    def added_up(self, pairs: Iterable[Sequence[Mapping[str, Value]]]) -> Mapping[str, Value]:
        """Record the sums over the lanes of each message, and over what `sums` has of it."""
        b = self.b
        halves: dict[str, list[VReg]] = {name: [] for name in self.sums}
        for pair in pairs:
            for name, found in halves.items():
                found.append(half_sums(b, *(in_register(sums[name]) for sums in pair)))
        return {
            name: b.xor(quarter_sums(b, *halves[name]), total) for name, total in self.sums.items()
        }

    def begun(self, record: VReg) -> None:
        """Record the products of AAD and lengths of the next group, and its powers' places."""
        b = self.b
        b.about("AAD, lengths")
        pairs = [place(record, "len", i) for i in ALL]
        lengths = b.shl64(quad(b, pairs), 3, "bits of both lengths")
        once = [
            b.load_spread(key, LANES, "H")
            for key in entries(self.hashing, self.context, 1)
            if isinstance(key, Mem)
        ]
        sums = self._products({}, lengths, once)
        ones = b.gpr("gpr_const", (1 << BLOCK_BYTES) - 1)
        aad = quad(b, [self._aad(record, i, ones) for i in ALL])
        aad = to_register(b, self.hashing, aad, "S")
        for i, at in enumerate(self.at):
            length = read(b, record, "len", i)
            rounded = b.gpr("gpr_and", b.gpr("gpr_add", length, 15), -16, note="16·m")
            b.assign(at, b.gpr("gpr_minus", self.context, rounded, note="m powers from the end"))
        far = [entries(self.hashing, at, 2) for at in self.at]
        keys = [quad(b, row, "H^(m+2)") for row in zip(*far, strict=True)]
        sums = self._products(sums, aad, keys)
        for name, register in self.sums.items():
            b.assign(register, sums[name])
        b.about("")

    def _aad(self, record: VReg, i: int, ones: VReg) -> VReg:
        b = self.b
        some = b.gpr("gpr_low", ones, read(b, record, "aad_len", i))
        return self.few("aad", read(b, record, "aad", i), b.mask("mask", some))
