"""The end of a text: one straight path for each number of registers that it can fill.

The rest is m blocks, m <= n, and the last may be partial. It fills ⌈m/L⌉ registers of L lanes.
`exact` reads and writes the last of them, with code that all paths share. The length block is
hashed with the text, so one reduction ends the message:

    (X + C_1)·H^(m+1) + C_2·H^m + … + C_m·H^2 + lengths·H        after whole groups
    S·H^(m+2) + C_1·H^(m+1) + … + C_m·H^2 + lengths·H            without groups

S is the AAD's hash before its last multiplication (`message`). The products of S and of the lengths
wait for nothing, so they start the sums. A seal hashes the last ciphertext from the registers that
produced it, and the group before it beside the cipher. An open hashes everything beside the cipher.
Without a group, J_0 goes through the cipher beside the text, which hides its latency.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.schemes import aggregate
from ghashgen.ir.builder import Value
from ghashgen.ir.program import Label, Mem, VReg
from ghashgen.kernels.gcm.kernel import ENTRY_BYTES
from ghashgen.kernels.gcm.parts.cipher import add_text, rounds
from ghashgen.kernels.gcm.parts.tag import MASK, add_mask
from ghashgen.kernels.gcm.parts.text import Text
from ghashgen.kernels.hash.parts.exact import Exact, cut
from ghashgen.kernels.hash.parts.interface import entries, finish_group, key_sum, to_register


@dataclass(frozen=True)
class Before:
    """What precedes the text of a path: whole groups, or nothing.

    `state` is X after whole groups, and S without them. `lengths` is the length block. `J0` is
    enciphered beside the text, unless that is done already. `group` records the GHASH of a group
    that is written but not hashed.
    """

    state: VReg
    lengths: VReg
    J0: VReg | None = None
    group: Callable[[], None] | None = None


@dataclass(frozen=True)
class Last:
    """The last register, which need not be full: its input text and its output."""

    exact: Exact
    text: VReg
    written: VReg


class Ending:
    """What the paths share: their sums, and how to record them."""

    def __init__(self, text: Text, encrypts: bool) -> None:
        self.text, self.encrypts = text, encrypts
        self.b, self.kernel, self.lanes = text.b, text.kernel, text.kernel.lane_count
        self.step = BLOCK_BYTES * self.lanes
        b, hashing = self.b, self.kernel.hash
        self.acc = {name: b.register(name, self.lanes) for name in hashing.multiplier.accumulators}
        self.R = b.register("R") if hashing.multiplier.key_term else None

    def first_group(self, S: VReg) -> VReg:
        """Record GHASH of the first group as read, with S·H^(n+1) in its sum; return X."""
        b, kernel, text = self.b, self.kernel, self.text
        n = kernel.blocks
        sums = self._add({}, S, entries(kernel.hash, text.context, n + 1), "S")
        ciphertext = self._given(kernel.registers, None)
        sums = self._hash(sums, None, (text.context, n), ciphertext)
        b.about("reduce")
        X = finish_group(b, kernel.hash, sums, key_sum(kernel.hash, text.context, n + 1))
        b.about("")
        return X

    def ways(self, name: str, before: Before) -> VReg:
        """Record a path for each number of registers up to a group's, and the branches; return the
        tag.

        After whole groups, at least one byte of text is left.
        """
        b, kernel, text = self.b, self.kernel, self.text
        least = 1
        if before.J0 is not None:
            least = 2
            if kernel.registers > 1:
                b.branch("not_below", text.length, self.step + 1, f"{name}_more")
            self._few(name, before, [range(1), *cut(range(1, self.step + 1), self.lanes)])
            if kernel.registers > 1:
                b.label(f"{name}_more")
        if least <= kernel.registers:
            # The last register has at least 1 byte. After whole groups no access begins before it:
            # that text belongs to another turn of the loop, which the induction does not see.
            left = b.gpr("gpr_and", b.gpr("gpr_sub", text.length, 1), self.step - 1)
            left = b.gpr("gpr_add", left, 1, note="bytes of the last register")
            alone = before.J0 is not None
            exact = Exact.of(b, left, range(1, self.step + 1), self.lanes, behind=alone)
            at = b.gpr("gpr_minus", text.length, left, note="bytes before the last register")
            given = exact.load(f"{name}_in", self._place(text.source, at))
            last = Last(exact, given, b.register("written", self.lanes))
            key_at = self._power(before, exact)
            self._ways(name, before, last, key_at, (least, kernel.registers))
            b.label(f"{name}_written")
            ahead = text.group_bytes if before.group is not None else 0
            exact.store(f"{name}_out", self._place(text.out, at, ahead), last.written)
        b.label(f"{name}_reduce")
        b.about("reduce")
        return add_mask(b, kernel, finish_group(b, kernel.hash, self.acc, self.R))

    def _few(self, name: str, before: Before, parts: Sequence[range]) -> None:
        """Record the paths of a text of at most one register, selected by its number of bytes."""
        b, text, least = self.b, self.text, parts[0][0]
        if len(parts) > 1:
            lower, upper = parts[: len(parts) // 2], parts[len(parts) // 2 :]
            b.branch("not_below", text.length, upper[0][0], f"{name}_from_{upper[0][0]}")
            self._few(name, before, lower)
            b.label(f"{name}_from_{upper[0][0]}")
            self._few(name, before, upper)
            return
        if least == 0:
            self._way(0, before, None, self._power(before, None))
        else:
            exact = Exact.of(b, text.length, parts[0], self.lanes)
            given = exact.load(f"{name}_in_{least}", text.at(text.source))
            last = Last(exact, given, b.register("written", self.lanes))
            self._way(1, before, last, self._power(before, exact))
            exact.store(f"{name}_out_{least}", text.at(text.out), last.written)
        b.emit("jump", Label(f"{name}_reduce"))

    def _ways(
        self, name: str, before: Before, last: Last, key_at: VReg, counts: tuple[int, int]
    ) -> None:
        """Record the paths of least to most registers, where `counts` is (least, most)."""
        b, (least, most) = self.b, counts
        if least == most:
            self._way(least, before, last, key_at)
            if least < self.kernel.registers:
                b.emit("jump", Label(f"{name}_written"))
            return
        middle = (least + most) // 2
        b.branch("not_below", self.text.length, self.step * middle + 1, f"{name}_over_{middle}")
        self._ways(name, before, last, key_at, (least, middle))
        b.label(f"{name}_over_{middle}")
        self._ways(name, before, last, key_at, (middle + 1, most))

    def _way(self, count: int, before: Before, last: Last | None, key_at: VReg) -> None:
        """Record the path of `count` registers, up to the sums; H^(m+1) is at `key_at`."""
        b, text, hashing, top = self.b, self.text, self.kernel.hash, self.kernel.layout.top
        alone = before.J0 is not None
        state = None if alone else before.state
        with text.stream("hash"):
            sums = self._add({}, before.lengths, entries(hashing, text.context, 1), "lengths")
            if alone:
                sums = self._add(sums, before.state, entries(hashing, key_at, top + 1), "S")
            if before.group is not None:
                before.group()
            if not self.encrypts:
                sums = self._hash(sums, state, (key_at, top), self._given(count, last))
        with text.stream("cipher", lean=False):
            written = self._cipher(count, before, last)
        if self.encrypts:
            sums = self._hash(sums, state, (key_at, top), written)
        for name, register in self.acc.items():
            b.assign(register, sums[name])

    def _power(self, before: Before, exact: Exact | None) -> VReg:
        """Record the key terms of all powers used; return the address of H^(m+1) in the first
        array.

        If the register has a lane after the text, that lane is a zero block at H. Its product is 0,
        but a scheme with key terms adds that of H to the sum.
        """
        b, text, hashing, top = self.b, self.text, self.kernel.hash, self.kernel.layout.top
        rounded = b.gpr("gpr_and", b.gpr("gpr_address", Mem(base=text.length, disp=15)), -16)
        start = b.gpr("gpr_address", Mem(base=text.context, disp=ENTRY_BYTES * (top - 1)))
        key_at = b.gpr("gpr_minus", start, rounded, note="H^(m+1)")
        met = key_sum(hashing, key_at, top + (before.J0 is not None))
        once_more = key_sum(hashing, text.context, 1)
        if self.R is None or met is None or once_more is None:
            return key_at
        term = exact.if_lane_free(once_more, "the key term of H") if exact else None
        note = "the key terms of all powers that are met"
        b.assign(self.R, b.load(met, note) if term is None else b.xor(term, met, note))
        return key_at

    def _place(self, base: VReg, at: VReg, ahead: int = 0) -> Mem:
        """Return the address of the last register, which has `at` bytes before it."""
        start = self.b.gpr("gpr_address", Mem(base=base, index=at), note="the last register")
        return self.text.at(start, ahead)

    def _given(self, count: int, last: Last | None) -> list[VReg]:
        """Record the loads of the input text, zero-padded."""
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
    ) -> dict[str, Value]:
        """Add the products of the text. The one that waits for X comes last.

        `at` is the base and the power of C_1's entries.
        """
        b, kernel = self.b, self.kernel
        base, top = at
        order = [*range(1, len(ciphertext)), 0] if ciphertext else []
        for i in order:
            A = to_register(b, kernel.hash, ciphertext[i], "C")
            if i == 0 and state is not None:
                A = b.xor(A, state, "A = X + C")
            power = entries(kernel.hash, base, top - i * self.lanes)
            sums = self._add(sums, A, power, f"C{i + 1}")
        return sums

    def _add(
        self, sums: dict[str, Value], A: VReg, power: list[Value], subject: str
    ) -> dict[str, Value]:
        hashing = self.kernel.hash
        self.b.about(subject)
        out = aggregate.accumulate(self.b, hashing.multiplier, hashing.bit_order, sums, A, power)
        self.b.about("")
        return out

    def _cipher(self, count: int, before: Before, last: Last | None) -> list[VReg]:
        """Record the cipher, with J_0 if it is pending; return the output, zero-padded."""
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
                b.assign(last.written, written)
                if self.encrypts:
                    written = last.exact.first(written, "C, zero-padded")
            out.append(written)
        b.about("")
        return out


def encipher(text: Text, J0: VReg | None, blocks: list[VReg]) -> list[VReg]:
    """Record all rounds but the last of `blocks`, and beside them E_K(J_0), put aside."""
    b = text.b
    if J0 is None:
        return rounds(b, text.keys, blocks)
    first, *states = rounds(b, text.keys, [J0, *blocks])
    mask = b.aes_last(first, text.keys.last(text.kernel.lane_count), "E_K(J_0)")
    b.store(MASK, b.first_lane(mask), "E_K(J_0), put aside")
    return states
