"""Groups of four messages whose lengths differ, for kernels that are proved.

What depends on a length is a step of its own for each message: its AAD is read, and later its text
is written and hashed. Between two steps a proof forgets that message's length, so it goes through
the lengths of one message after another, and never through all pairs of them. Every message has as
many rows here as the longest: masks leave out what it lacks, which adds zeros to its sum.

    X_i = (AAD_i·H + C_1)·H^m + C_2·H^(m-1) + … + C_m·H             m blocks, four a row
"""

from collections.abc import Mapping
from dataclasses import replace

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.ir.builder import Builder, Value
from ghashgen.ir.program import Label, Mem, RegClass, Slot, VReg
from ghashgen.kernels.aes.text import IN_TEXT
from ghashgen.kernels.gcm.kernel import MESSAGES_AT_ONCE, GcmKernel
from ghashgen.kernels.gcm.parts.apart import Apart
from ghashgen.kernels.gcm.parts.fours import ALL, LANES, ROW_BYTES, Fours, most_rows, numbered
from ghashgen.kernels.gcm.parts.lengths import length_block
from ghashgen.kernels.gcm.parts.params import DIFFERS
from ghashgen.kernels.gcm.parts.quads import half_sums, quad, quarter_sums
from ghashgen.kernels.gcm.parts.records import read, report
from ghashgen.kernels.gcm.parts.side import next_group, usual
from ghashgen.kernels.hash.parts.interface import entries, to_register

MOST_MIXED_ROWS = 2
"""Rows of the longest message. With more of them, rows that others lack cost what a group gains."""


def mixed_group(b: Builder, kernel: GcmKernel, record: VReg, left: Slot, encrypts: bool) -> None:
    """Record a group whose lengths differ; go on with what follows if there is none.

    Four records are left. Each number of rows has a cipher and texts of its own.
    """
    b.label("mixed")
    most = min(MOST_MIXED_ROWS, most_rows(kernel))
    fours = Mixed(b, kernel, b.params[0], encrypts)
    with b.part("mixed"):
        fours.looked_at(record, ROW_BYTES * most, "no")
        for rows in range(1, most + 1):
            with b.part(f"{rows}"):
                for length in fours.length if rows < most else ():
                    b.branch("not_below", length, ROW_BYTES * rows + 1, "more")
                fours.ciphered(record, rows)
                # Where texts follow each other, no load waits for a masked store before it.
                for i in reversed(ALL):
                    b.label(f"text_{i}")
                    fours.text_hashed(record, i)
            if rows < most:
                b.emit("jump", Label("hash"))
                b.label(f"{rows}_more")
        b.label("hash")
        fours.tags_told(record)
        fours.verdicts(record, 0)
    next_group(b, record, left, MESSAGES_AT_ONCE)
    b.emit("jump", Label("next"))
    with b.part("mixed"):
        fours.cleared_texts(record, most)
        b.label("no")


class Mixed(Apart):
    """The registers of such a group."""

    def __init__(self, b: Builder, kernel: GcmKernel, context: VReg, encrypts: bool) -> None:
        super().__init__(b, kernel, context, encrypts)
        self.length = [b.register("len", cls=RegClass.GPR) for _ in ALL]
        self.aad_length = [b.register("aad_len", cls=RegClass.GPR) for _ in ALL]
        self.streams: list[list[VReg]] = []
        """Keystream by rows and messages."""
        self.X = [b.register("X", LANES) for _ in ALL]
        """Each message's sum, in parts that are reduced."""

    def looked_at(self, record: VReg, most: int, no: str) -> None:
        """Record the lengths and AAD of four messages; go to `no` if they are no group."""
        b = self.b
        for i, (length, count) in enumerate(zip(self.length, self.aad_length, strict=True)):
            b.assign(length, read(b, record, "len", i))
            b.branch("not_below", b.gpr("gpr_sub", length, 1), most, no)
            b.assign(count, read(b, record, "aad_len", i))
            b.branch("not_below", count, BLOCK_BYTES + 1, no)
            usual(b, record, i, self.encrypts, no)
        b.about("AAD")
        blocks = [b.register("AAD") for _ in ALL]
        for i, (block, count) in enumerate(zip(blocks, self.aad_length, strict=True)):
            b.label(f"look_{i}")
            at = read(b, record, "aad", i)
            b.emit("zero", block)
            # Its pointer may be null then: a masked load there is slow, even if it loads nothing.
            b.branch("equal", count, 0, f"seen_{i}")
            mask = b.mask("mask", b.gpr("gpr_low", b.gpr("gpr_const64", -1), count))
            b.assign(block, to_register(b, self.hashing, self.few("aad", at, mask), "S"))
            b.label(f"seen_{i}")
        b.assign(self.S, self._times_h(quad(b, blocks, "S")))
        b.about("")

    def ciphered(self, record: VReg, rows: int) -> None:
        """Record the keystream of four messages, and E_K(J_0)."""
        b = self.b
        b.label("cipher")
        self.load_constants(0)
        b.about("AES")
        ivs = [self._iv(record, i) for i in ALL]
        states = [b.xor(quad(b, ivs, "IV || 0"), self.white[0], "J_0 + k_0")]
        for row in range(rows):
            white = self.white[1] if not row else self._numbers(2 + LANES * row)
            states += [b.xor(iv, white, "IV || j, + k_0") for iv in ivs]
        J0, *states = self._rounds(states)
        last = self.keys.last(LANES)
        b.assign(self.mask, b.aes_last(J0, last, "E_K(J_0)"))
        streams = [b.aes_last(state, last, "keystream") for state in states]
        self.streams = [streams[LANES * row :][:LANES] for row in range(rows)]
        b.about("")

    def _numbers(self, first: int) -> VReg:
        constant = self.b.const_lanes(numbered(first), f"numbers_{first}")
        return self.b.xor(self.keys.key(0, LANES), constant, "numbers, + k_0")

    def text_hashed(self, record: VReg, i: int) -> None:
        """Record the text of a message, and its sum."""
        b, present = self.b, self.present[i]
        source, out = (read(b, record, word, i) for word in ("in", "out"))
        rounded = b.gpr("gpr_and", b.gpr("gpr_add", self.length[i], 15), -16, note="16·m")
        begin = b.gpr("gpr_minus", self.context, rounded, note="m powers from the end")
        hashed = b.register("AAD·H")
        b.emit("take_lane", hashed, self.S, i)
        sums: Mapping[str, Value] = {}
        for row, streams in enumerate(self.streams):
            at, to = (Mem(base=p, disp=ROW_BYTES * row, within=IN_TEXT) for p in (source, out))
            self.row_mask(i, row)
            given = self._masked(i, at)
            written = b.xor(streams[i], given, "the other text")
            b.emit("store_masked", to, present, written, note="written")
            C = Fours.padded(self, i, written if self.encrypts else given)
            A = C if row else b.xor(C, hashed, "A = AAD·H + C")
            powers = entries(self.hashing, begin, -LANES * row)
            keys = [b.load(key, "H^m …", LANES) for key in powers if isinstance(key, Mem)]
            sums = self._products(sums, A, keys)
        b.assign(self.X[i], self._reduced(sums))

    def row_mask(self, i: int, row: int) -> None:
        """Record which bytes of a row a message has, if any."""
        b, left = self.b, self.length[i]
        if row:
            left = b.gpr("gpr_sub", left, ROW_BYTES * row)
            ones = b.gpr("gpr_sub", b.gpr("gpr_shr", left, 63), 1, note="0 if there are none")
        else:
            ones = b.gpr("gpr_const64", -1)
        b.emit("mask", self.present[i], b.gpr("gpr_low", ones, left))

    def _times_h(self, A: VReg) -> VReg:
        keys = [self._spread(key) for key in entries(self.hashing, self.context, 1)]
        return self._reduced(self._products({}, A, keys))

    def tags_told(self, record: VReg) -> None:
        """Record the tags and statuses."""
        b = self.b
        b.about("tags")
        # In the order of the texts, so that a proof sees here that another step begins.
        pairs = reversed([*zip(self.aad_length, self.length, strict=True)])
        blocks = [length_block(b, self.kernel, *pair) for pair in pairs]
        lengths = quad(b, blocks[::-1], "lengths")
        X = quarter_sums(b, half_sums(b, *self.X[:2]), half_sums(b, *self.X[2:]))
        found = self._times_h(b.xor(X, lengths, "X + lengths"))
        tags = b.xor(to_register(b, self.hashing, found, "as in memory"), self.mask, "tags")
        self.told(record, 0, tags)
        b.about("")

    def cleared_texts(self, record: VReg, most: int) -> None:
        """Record what becomes of messages with a wrong tag: zeros for text, and their status.

        Without a mask, a proof goes through lengths here only for the message that it follows.
        """
        b = self.b
        for i in () if self.encrypts else ALL:
            b.label(f"wrong_{i}")
            zeros, length = b.register("zeros", LANES), self.length[i]
            b.emit("zero", zeros)
            out = read(b, record, "out", i)
            if most > 1:
                b.branch("below", length, ROW_BYTES, f"one_row_{i}")
                for at in (Mem(base=out), Mem(base=out, index=length, disp=-ROW_BYTES)):
                    b.store(replace(at, within=IN_TEXT), zeros, "zeros")
                b.emit("jump", Label(f"cleared_{i}"))
                b.label(f"one_row_{i}")
            self.clear(out, length, zeros)
            b.label(f"cleared_{i}")
            report(b, record, DIFFERS, i)
            b.emit("jump", Label(f"judged_{i}"))
