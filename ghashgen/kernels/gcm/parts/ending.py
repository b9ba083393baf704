"""The end of a text, on a straight way for each number of registers that it can take.

What is left, m blocks of which the last may be partial, m <= n, takes ⌈m/L⌉ registers of L lanes,
the last of them read and written under a byte mask. The block of lengths is hashed with them, so
that one reduction ends the message:

    (X + C_1)·H^(m+1) + C_2·H^m + … + C_m·H^2 + lengths·H        behind whole groups
    S·H^(m+2) + C_1·H^(m+1) + … + C_m·H^2 + lengths·H            where there are none

S is what the AAD comes to but for its last multiplication (`message`). Of S and the lengths the
products wait for nothing, and start the sums. Encrypting, what is made is hashed from the registers
that it was made in, and the group before it beside the cipher; decrypting, all of it is hashed
beside the cipher. Where there is no group before, J_0 goes through the cipher beside the text,
which covers its latency.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.schemes import aggregate
from ghashgen.ir.builder import Value
from ghashgen.ir.program import Label, Mem, VReg
from ghashgen.kernels.gcm.kernel import ENTRY_BYTES
from ghashgen.kernels.gcm.parts.cipher import add_text, rounds
from ghashgen.kernels.gcm.parts.tag import MASK, add_mask
from ghashgen.kernels.gcm.parts.text import Text
from ghashgen.kernels.hash.parts.interface import entries, finish_group, key_sum, to_register


@dataclass(frozen=True)
class Before:
    """What stands before the text of a way: whole groups, or nothing.

    `state` is X behind whole groups, S where there are none; `lengths` the block of them; `J0`
    what is enciphered beside the text, where that has not been done; `group` records the GHASH of
    a group that is written and not hashed.
    """

    state: VReg
    lengths: VReg
    J0: VReg | None = None
    group: Callable[[], None] | None = None


@dataclass(frozen=True)
class Last:
    """A register that need not be full: the masks of its bytes and of its blocks, and its text.

    Lanes past the text would meet H once more. A block of zeros has no product, but where a scheme
    has key terms it has one of those: so the keys are masked too.
    """

    mask: VReg
    text: VReg
    blocks: VReg | None


class Ending:
    """What the ways share: the sums that they come to, and how they are recorded."""

    def __init__(self, text: Text, encrypts: bool) -> None:
        self.text, self.encrypts = text, encrypts
        self.b, self.kernel, self.lanes = text.b, text.kernel, text.kernel.lane_count
        self.step = BLOCK_BYTES * self.lanes
        b, hashing = self.b, self.kernel.hash
        self.acc = {name: b.register(name, self.lanes) for name in hashing.multiplier.accumulators}
        self.R = b.register("R") if hashing.multiplier.key_term else None

    def first_group(self, S: VReg) -> VReg:
        """Record GHASH of the first group where it is given, S·H^(n+1) in its sum; return X."""
        b, kernel, text = self.b, self.kernel, self.text
        n = kernel.blocks
        sums = self._add({}, S, entries(kernel.hash, text.context, n + 1), "S")
        ciphertext = self._given(kernel.registers, None)
        sums = self._hash(sums, None, (text.context, n), ciphertext, None)
        b.about("reduce")
        X = finish_group(b, kernel.hash, sums, key_sum(kernel.hash, text.context, n + 1))
        b.about("")
        return X

    def ways(self, name: str, before: Before) -> VReg:
        """Record a way for each number of registers up to a group's, and how it is found.

        Behind whole groups there is some text. Returns the tag.
        """
        b, kernel = self.b, self.kernel
        self._ways(name, before, 0 if before.J0 is not None else 1, kernel.registers)
        b.label(f"{name}_reduce")
        b.about("reduce")
        return add_mask(b, kernel, finish_group(b, kernel.hash, self.acc, self.R))

    def _ways(self, name: str, before: Before, least: int, most: int) -> None:
        b = self.b
        if least == most:
            self._way(least, before)
            if least < self.kernel.registers:
                b.emit("jump", Label(f"{name}_reduce"))
            return
        middle = (least + most) // 2
        b.branch("not_below", self.text.length, self.step * middle + 1, f"{name}_over_{middle}")
        self._ways(name, before, least, middle)
        b.label(f"{name}_over_{middle}")
        self._ways(name, before, middle + 1, most)

    def _way(self, count: int, before: Before) -> None:
        """Record the way of so many registers, up to the sums."""
        b, text, hashing, top = self.b, self.text, self.kernel.hash, self.kernel.layout.top
        alone = before.J0 is not None
        state = None if alone else before.state
        key_at = self._power()
        if self.R is not None:
            R = key_sum(hashing, key_at, top + alone)
            assert R is not None
            b.assign(self.R, b.load(R, "the key terms of all powers that are met"))
        last = self._last(count) if count else None
        with text.stream("hash"):
            sums = self._add({}, before.lengths, entries(hashing, text.context, 1), "lengths")
            if alone:
                sums = self._add(sums, before.state, entries(hashing, key_at, top + 1), "S")
            if before.group is not None:
                before.group()
            if not self.encrypts:
                sums = self._hash(sums, state, (key_at, top), self._given(count, last), last)
        with text.stream("cipher", lean=False):
            written = self._cipher(count, before, last)
        if self.encrypts:
            sums = self._hash(sums, state, (key_at, top), written, last)
        for name, register in self.acc.items():
            b.assign(register, sums[name])

    def _power(self) -> VReg:
        """Return the address of H^(m+1) in the first array."""
        b, text = self.b, self.text
        rounded = b.gpr("gpr_and", b.gpr("gpr_address", Mem(base=text.length, disp=15)), -16)
        first = ENTRY_BYTES * (self.kernel.layout.top - 1)
        start = b.gpr("gpr_address", Mem(base=text.context, disp=first))
        return b.gpr("gpr_minus", start, rounded, note="H^(m+1)")

    def _last(self, count: int) -> "Last":
        """Record what is needed of the last register."""
        b, text = self.b, self.text
        left, before = b.gpr("gpr_copy", text.length), self.step * (count - 1)
        if before:
            left = b.gpr("gpr_sub", left, before, note="bytes of the last register")
        mask, blocks = b.byte_mask(left), None
        if self.R is not None:
            blocks = b.byte_mask(
                b.gpr("gpr_and", b.gpr("gpr_address", Mem(base=left, disp=15)), -16)
            )
        source = text.at(text.source, before)
        return Last(mask, b.load_bytes(source, mask, "text, zero-padded", self.lanes), blocks)

    def _given(self, count: int, last: Last | None) -> list[VReg]:
        """Record the loads of the text as it is given, zero-padded."""
        text = self.text
        whole = count if last is None else count - 1
        places = (text.at(text.source, self.step * i) for i in range(whole))
        loads = [self.b.load(place, "C, bytes as in memory", self.lanes) for place in places]
        return loads if last is None else [*loads, last.text]

    def _hash(
        self,
        sums: dict[str, Value],
        state: VReg | None,
        at: tuple[VReg, int],
        ciphertext: list[VReg],
        last: Last | None,
    ) -> dict[str, Value]:
        """Add the products of the text; what waits for X comes last.

        `at` says which base and power the entries of C_1 have.
        """
        b, kernel = self.b, self.kernel
        base, top = at
        order = [*range(1, len(ciphertext)), 0] if ciphertext else []
        for i in order:
            A = to_register(b, kernel.hash, ciphertext[i], "C")
            if i == 0 and state is not None:
                A = b.xor(A, state, "A = X + C")
            power = entries(kernel.hash, base, top - i * self.lanes)
            if i == len(ciphertext) - 1 and last is not None and last.blocks is not None:
                power = [self._powers(cell, last.blocks) for cell in power]
            sums = self._add(sums, A, power, f"C{i + 1}")
        return sums

    def _powers(self, cell: Value, blocks: VReg) -> VReg:
        assert isinstance(cell, Mem)
        return self.b.load_bytes(cell, blocks, "powers of the blocks that there are", self.lanes)

    def _add(
        self, sums: dict[str, Value], A: VReg, power: list[Value], subject: str
    ) -> dict[str, Value]:
        hashing = self.kernel.hash
        self.b.about(subject)
        out = aggregate.accumulate(self.b, hashing.multiplier, hashing.bit_order, sums, A, power)
        self.b.about("")
        return out

    def _cipher(self, count: int, before: Before, last: Last | None) -> list[VReg]:
        """Record the cipher, of J_0 too if it is to come; return what is written, zero-padded."""
        b, text = self.b, self.text
        ahead = text.group_bytes if before.group is not None else 0
        b.about("AES")
        blocks = text.counters.last_blocks(count)
        states = encipher(text, before.J0, blocks)
        key = text.keys.last(self.lanes)
        out: list[VReg] = []
        for i, state in enumerate(states):
            to = text.at(text.out, ahead + self.step * i)
            if last is None or i < count - 1:
                source = text.at(text.source, self.step * i)
                written = add_text(b, state, key, source, "last round: the other text")
                b.store(to, written, "written")
            else:
                written = add_text(b, state, key, last.text, "last round: the other text")
                b.store_bytes(to, last.mask, written, "written")
                if self.encrypts:
                    written = b.keep_bytes(last.mask, written, "C, zero-padded")
            out.append(written)
        b.about("")
        return out


def encipher(text: Text, J0: VReg | None, blocks: list[VReg]) -> list[VReg]:
    """Record all rounds but the last of some counter blocks; beside them E_K(J_0), put aside."""
    b = text.b
    if J0 is None:
        return rounds(b, text.keys, blocks)
    first, *states = rounds(b, text.keys, [J0, *blocks])
    mask = b.aes_last(first, text.keys.last(text.kernel.lane_count), "E_K(J_0)")
    b.store(MASK, b.first_lane(mask), "E_K(J_0), put aside")
    return states
