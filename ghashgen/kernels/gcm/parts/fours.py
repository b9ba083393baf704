"""Four messages side by side: the cipher over a row of each, woven with GHASH of the row before.

A row is 64 bytes of each message, one register each; the last row may be shorter. All four have the
same number of rows. J_0, AAD, lengths and tags are lanes of shared registers:

    cipher    E_K(J_0) of four messages     row 1, row 2, … of each     next group
    hash      the group before, its tags    AAD, lengths     row 1, …   row R, tags

    X_i = AAD_i·H^(m+2) + C_1·H^(m+1) + … + C_m·H^2 + lengths_i·H       m blocks, four a row

Each message has its accumulators, one power in each lane. At the end their lanes are added up by
transposition, so that lane i belongs to message i, and one reduction serves all four.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.schemes import aggregate
from ghashgen.ir.builder import Builder, Value
from ghashgen.ir.program import Mem, RegClass, Slot, VReg
from ghashgen.kernels.aes.cipher import RoundKeys
from ghashgen.kernels.aes.text import IN_TEXT
from ghashgen.kernels.gcm.kernel import MESSAGES_AT_ONCE, GcmKernel
from ghashgen.kernels.gcm.parts.params import DONE
from ghashgen.kernels.gcm.parts.quads import quad, half_sums, quarter_sums, store_lanes
from ghashgen.kernels.gcm.parts.records import IN_RECORDS, place, read, report
from ghashgen.kernels.gcm.parts.start import FIRST
from ghashgen.kernels.hash.parts.interface import entries, in_register, to_register

ALL = range(MESSAGES_AT_ONCE)
LANES = 4
ROW_BYTES = BLOCK_BYTES * LANES

MASKS = tuple(Slot(3 + i) for i in ALL)
"""Stack slots: which bytes of its last row a message has."""


def numbered(first: int) -> list[int]:
    """Return a register's counters from `first`, as a block has them: in its last four bytes."""
    return [int.from_bytes(bytes(12) + (first + i).to_bytes(4, "big"), "little") for i in range(4)]


class Fours:
    """The registers of a group of four and of the group before, and what is recorded with them."""

    def __init__(self, b: Builder, kernel: GcmKernel, context: VReg, encrypts: bool) -> None:
        self.b, self.kernel, self.context, self.encrypts = b, kernel, context, encrypts
        self.hashing = kernel.hash
        self.keys = RoundKeys(b, kernel, context)
        names = self.hashing.multiplier.accumulators
        self.acc = [{name: b.register(name, LANES) for name in names} for _ in ALL]
        self.sums = {name: b.register(f"{name}, AAD and lengths", LANES) for name in names}
        self.blocks = [b.register("C", LANES) for _ in ALL]
        self.states = [b.register("state", LANES) for _ in range(MESSAGES_AT_ONCE + 1)]
        self.half = self.keys.rounds // 2 + 1
        self.words = b.mask("mask", b.gpr("gpr_const", 0x7777), note="three words of each block")
        self.mask = b.register("E_K(J_0)", LANES)
        self.ivs = [b.register("IV || 0", LANES) for _ in ALL]
        self.numbers = b.register("numbers", LANES)
        self.at = [b.register("at", cls=RegClass.GPR) for _ in ALL]
        """The context, less 16 bytes for each block that is left: H^(m+1) stands where H would."""
        self.present = [b.register("present", cls=RegClass.MASK) for _ in ALL]
        self.source = [b.register("in", cls=RegClass.GPR) for _ in ALL]
        self.out = [b.register("out", cls=RegClass.GPR) for _ in ALL]

    # -- the cipher --------------------------------------------------------------------------

    def started(self, record: VReg, ahead: int = 0) -> None:
        """Record the first rounds over J_0 and the first row of four messages."""
        b, keys = self.b, self.keys
        b.about("AES")
        ivs = [self._iv(record, ahead + i) for i in ALL]
        k_0 = keys.key(0, LANES)
        J0 = quad(b, ivs, "IV || 0")
        J0 = b.xor(J0, b.const_lanes([FIRST] * LANES, "first_numbers"))
        numbers = b.xor(k_0, b.const_lanes(numbered(2), "numbers_2"), "numbers + k_0")
        states = [b.xor(iv, numbers, "IV || j, + k_0") for iv in ivs]
        states = self._rounds([b.xor(J0, k_0, "+ k_0"), *states], range(1, self.half))
        for register, state in zip(self.states, states, strict=True):
            b.assign(register, state)
        b.about("")

    def completed(self, record: VReg, ahead: int = 0) -> None:
        """Record the other rounds, and the text of the first row."""
        b, keys = self.b, self.keys
        b.about("AES")
        J0, *states = self._rounds(self.states, range(self.half, keys.rounds))
        last = keys.last(LANES)
        self._write(
            states,
            last,
            lambda i: read(b, record, "in", ahead + i),
            lambda i: read(b, record, "out", ahead + i),
        )
        b.assign(self.mask, b.aes_last(J0, last, "E_K(J_0)"))
        b.about("")

    def _iv(self, record: VReg, i: int) -> VReg:
        b, iv = self.b, self.b.register("IV || 0", LANES)
        at = Mem(base=read(b, record, "iv", i), within="iv")
        b.emit("spread_masked", iv, self.words, at, note="IV || 0")
        return iv

    def _rounds(self, states: Sequence[VReg], numbers: range) -> list[VReg]:
        out = [*states]
        for i in numbers:
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
        states = self._rounds(states, range(1, keys.rounds))
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
        for i, acc in enumerate(self.acc):
            sums = self._hashed(i, acc)
            for name, register in acc.items():
                b.assign(register, sums[name])
            b.assign(self.at[i], b.gpr("gpr_add", self.at[i], ROW_BYTES))
        b.about("")

    def _hashed(self, i: int, acc: Mapping[str, Value]) -> Mapping[str, Value]:
        return self._products(acc, self.blocks[i], self.row_keys(i))

    def row_keys(self, i: int) -> Sequence[Value]:
        """Return the powers for a row of a message."""
        return entries(self.hashing, self.at[i], 1)

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
        halves: dict[str, list[VReg]] = {name: [] for name in self.sums}
        for i in ALL[::2]:
            pair = [self._hashed(j, {} if only else self.acc[j]) for j in (i, i + 1)]
            for name, found in halves.items():
                found.append(half_sums(b, *(in_register(sums[name]) for sums in pair)))
        b.about("tags")
        acc = {
            name: b.xor(quarter_sums(b, *halves[name]), total) for name, total in self.sums.items()
        }
        scheme = self.hashing.multiplier, self.hashing.reducer, self.hashing.bit_order
        X = in_register(aggregate.finish(b, *scheme, acc, None))
        tags = b.xor(to_register(b, self.hashing, X, "as in memory"), self.mask, "tags")
        store_lanes(b, lambda i: Mem(base=read(b, record, "tag", ahead + i), within="tags"), tags)
        done = b.gpr("gpr_const", DONE)
        for i in ALL:
            report(b, record, done, ahead + i)
        b.about("")

    def begun(self, record: VReg, ahead: int = 0) -> None:
        """Record the products of AAD and lengths of the next group, and its powers' places."""
        b = self.b
        b.about("AAD, lengths")
        pairs = [place(record, "len", ahead + i) for i in ALL]
        lengths = b.shl64(quad(b, pairs), 3, "bits of both lengths")
        once = [
            b.load_spread(key, LANES, "H")
            for key in entries(self.hashing, self.context, 1)
            if isinstance(key, Mem)
        ]
        sums = self._products({}, lengths, once)
        ones = b.gpr("gpr_const", (1 << BLOCK_BYTES) - 1)
        aad = quad(b, [self._aad(record, ahead + i, ones) for i in ALL])
        aad = to_register(b, self.hashing, aad, "S")
        for i, at in enumerate(self.at):
            length = read(b, record, "len", ahead + i)
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
        out = b.register("AAD")
        at = Mem(base=read(b, record, "aad", i), within="aad")
        b.emit("load_masked", out, b.mask("mask", some), at, note="AAD")
        return out

    def _products(
        self, sums: Mapping[str, Value], A: VReg, keys: Sequence[Value]
    ) -> Mapping[str, Value]:
        hashing = self.hashing
        return aggregate.accumulate(
            self.b, hashing.multiplier, hashing.bit_order, sums, A, keys
        )

    def stream(self, name: str, start: float, end: float) -> AbstractContextManager[None]:
        """Return a context whose contents are woven with those of other streams."""
        return self.b.stream(name, start, end, lean=False)


__all__ = ["ALL", "IN_RECORDS", "LANES", "MASKS", "ROW_BYTES", "Fours"]
