"""Groups of four messages of one row each, whose lengths may differ, for kernels that are proved.

What depends on a length is a step of its own for each message: its AAD is read, then its text is
written and its powers of H are loaded. Between two steps a proof forgets that message's length, so
it goes through the lengths of one message after another, and never through all pairs of them.
"""

from collections.abc import Mapping, Sequence

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.ir.builder import Builder, Value
from ghashgen.ir.program import Label, Mem, RegClass, Slot, VReg
from ghashgen.kernels.aes.text import IN_TEXT
from ghashgen.kernels.gcm.kernel import MESSAGES_AT_ONCE, GcmKernel
from ghashgen.kernels.gcm.parts.apart import Apart
from ghashgen.kernels.gcm.parts.fours import ALL, LANES, ROW_BYTES
from ghashgen.kernels.gcm.parts.lengths import length_block
from ghashgen.kernels.gcm.parts.params import DIFFERS
from ghashgen.kernels.gcm.parts.quads import quad
from ghashgen.kernels.gcm.parts.records import RECORD_BYTES, read, report
from ghashgen.kernels.gcm.parts.start import IV_BYTES
from ghashgen.kernels.hash.parts.interface import entries, to_register


def mixed_group(b: Builder, kernel: GcmKernel, record: VReg, left: Slot, encrypts: bool) -> None:
    """Record a group whose lengths differ; go on with what follows if there is none.

    Four records are left.
    """
    b.label("mixed")
    fours = Mixed(b, kernel, b.params[0], encrypts)
    with b.part("mixed"):
        fours.looked_at(record, "no")
        fours.load_constants(0)
        fours.ciphered(record)
        for i in ALL:
            b.label(f"text_{i}")
            fours.text_written(record, i)
        fours.lengths_and_aad()
        fours.finished(record, 0, True)
        fours.verdicts(record, 0)
    step = RECORD_BYTES * MESSAGES_AT_ONCE
    b.assign(record, b.gpr("gpr_add", record, step, note="the next group"))
    b.emit("gpr_store64", left, b.gpr("gpr_sub", b.gpr("gpr_load64", left), MESSAGES_AT_ONCE))
    b.emit("jump", Label("next"))
    with b.part("mixed"):
        fours.cleared_texts(record)
        b.label("no")


class Mixed(Apart):
    """The registers of such a group."""

    def __init__(self, b: Builder, kernel: GcmKernel, context: VReg, encrypts: bool) -> None:
        super().__init__(b, kernel, context, encrypts)
        names = self.hashing.multiplier.entries
        self.length = [b.register("len", cls=RegClass.GPR) for _ in ALL]
        self.aad_length = [b.register("aad_len", cls=RegClass.GPR) for _ in ALL]
        self.alone = [b.register("AAD") for _ in ALL]
        self.stream_of = [b.register("keystream", LANES) for _ in ALL]
        self.near = [[b.register(f"{name} of the text", LANES) for name in names] for _ in ALL]
        self.away = [[b.register(f"{name} of the AAD") for name in names] for _ in ALL]

    def looked_at(self, record: VReg, no: str) -> None:
        """Record the lengths and AAD of four messages; go to `no` if they are no group."""
        b = self.b
        for i in ALL:
            for word, register, most in (
                ("len", self.length[i], ROW_BYTES),
                ("aad_len", self.aad_length[i], BLOCK_BYTES),
            ):
                b.assign(register, read(b, record, word, i))
                b.branch("not_below", b.gpr("gpr_sub", register, 1), most, no)
            b.branch("not_equal", read(b, record, "iv_len", i), IV_BYTES, no)
            if not self.encrypts:
                b.branch("not_equal", read(b, record, "tag_len", i), BLOCK_BYTES, no)
        for i, (block, count) in enumerate(zip(self.alone, self.aad_length, strict=True)):
            b.label(f"look_{i}")
            mask = b.mask("mask", b.gpr("gpr_low", b.gpr("gpr_const64", -1), count))
            aad = self.few("aad", read(b, record, "aad", i), mask)
            b.assign(block, to_register(b, self.hashing, aad, "S"))

    def ciphered(self, record: VReg) -> None:
        """Record the keystream of four rows, and E_K(J_0)."""
        b = self.b
        b.label("cipher")
        b.assign(self.S, quad(b, self.alone, "S"))
        b.about("AES")
        J0, *states = self.first_rounds(record)
        last = self.keys.last(LANES)
        for stream, state in zip(self.stream_of, states, strict=True):
            b.assign(stream, b.aes_last(state, last, "keystream"))
        b.assign(self.mask, b.aes_last(J0, last, "E_K(J_0)"))
        b.about("")

    def text_written(self, record: VReg, i: int) -> None:
        """Record the text of a message, and its powers of H."""
        b, length = self.b, self.length[i]
        ones = b.gpr("gpr_const64", -1)
        b.emit("mask", self.present[i], b.gpr("gpr_low", ones, length))
        source, out = (Mem(base=read(b, record, w, i), within=IN_TEXT) for w in ("in", "out"))
        given = self._masked(i, source)
        written = b.xor(self.stream_of[i], given, "the other text")
        b.emit("store_masked", out, self.present[i], written, note="written")
        b.assign(self.blocks[i], self.padded_one(i, written if self.encrypts else given))
        rounded = b.gpr("gpr_and", b.gpr("gpr_add", length, 15), -16, note="16·m")
        at = b.gpr("gpr_minus", self.context, rounded, note="m powers from the end")
        for register, key in zip(self.near[i], entries(self.hashing, at, 1), strict=True):
            b.emit("copy", register, key, note="H^(m+1) …")
        for register, key in zip(self.away[i], entries(self.hashing, at, 2), strict=True):
            b.emit("copy", register, key, note="H^(m+2)")

    def padded_one(self, i: int, C: VReg) -> VReg:
        """Record ciphertext in register form, zero-padded."""
        if self.encrypts:
            whole, C = C, self.b.register("C", LANES)
            self.b.emit("masked", C, self.present[i], whole, note="zero-padded")
        return to_register(self.b, self.hashing, C, "C")

    def lengths_and_aad(self) -> None:
        """Record the products of AAD and of lengths."""
        b = self.b
        b.label("lengths")
        b.about("AAD, lengths")
        pairs = zip(self.aad_length, self.length, strict=True)
        blocks = [length_block(b, self.kernel, *pair) for pair in pairs]
        near = entries(self.hashing, self.context, 1)
        sums: Mapping[str, Value] = self._products(
            {}, quad(b, blocks), [self._spread(key) for key in near]
        )
        far = [quad(b, row, "H^(m+2)") for row in zip(*self.away, strict=True)]
        sums = self._products(sums, self.S, far)
        for name, register in self.sums.items():
            b.assign(register, sums[name])
        b.about("")

    def row_keys(self) -> Sequence[Sequence[Value]]:
        """Return the powers for the row of each message."""
        return self.near

    def cleared_texts(self, record: VReg) -> None:
        """Record what becomes of messages with a wrong tag: zeros for text, and their status."""
        b = self.b
        for i in () if self.encrypts else ALL:
            b.label(f"wrong_{i}")
            zeros = b.register("zeros", LANES)
            b.emit("zero", zeros)
            self.clear(read(b, record, "out", i), self.length[i], zeros)
            report(b, record, DIFFERS, i)
            b.emit("jump", Label(f"judged_{i}"))
