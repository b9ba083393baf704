"""Whole groups of a text in wide registers: AES of a group, woven with GHASH of another.

Encryption hashes a group while it encrypts the next, from the registers that hold it. All registers
of the next group's counters are computed meanwhile.

A host's table may have powers alone. Then two registers A and A' are multiplied side by side by
Karatsuba, and what that takes of the powers is computed once:

    F = (A0 + A1, A'0 + A'1)        S = (B0 + B1, B'0 + B'1)
    MI += F0·S0 + F1·S1             LO += A0·B0 + A'0·B'0           HI likewise
"""

from collections.abc import Sequence

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.ops.protocol import HI_HI, LO_LO
from ghashgen.algebra.schemes import aggregate
from ghashgen.ir.builder import Builder, Value
from ghashgen.ir.program import VReg
from ghashgen.kernels.gcm.parts.text import Text, stream
from ghashgen.kernels.given.schedule import LEAST, Behind
from ghashgen.kernels.hash.parts.group import add_group, group_keys
from ghashgen.kernels.hash.parts.interface import GROUP, entries, finish_group, to_register

_HASHED, _COUNTED = 0.95, 0.9
"""The part of a group's time by which its hash and the next counters are done."""

_BESIDE = 12
"""Registers that a group takes for other things than texts, states, sums of powers and keys."""


class Groups:
    """What the loop over whole groups needs. `X` is the state of GHASH."""

    def __init__(self, text: Text, keys: Behind, X: VReg, encrypts: bool) -> None:
        self.text, self.keys, self.X, self.encrypts = text, keys, X, encrypts
        self.b, self.hashing = text.b, text.kernel.hash
        self.lanes, self.count = text.kernel.lane_count, text.kernel.registers
        self.paired = self.hashing.multiply == "middle" and self.count % 2 == 0

    def record(self) -> None:
        """Record all whole groups, of which there is one at least."""
        b, text, keys, size = self.b, self.text, self.keys, self.text.group_bytes
        held = text.kernel.instruction_set.vector_registers - _BESIDE - 5 * self.count // 2
        keys.keep(max(0, min(LEAST, held)))
        self.C = [b.register(f"C_{i + 1}", self.lanes) for i in range(self.count)]
        states = [b.variable(block, "state") for block in self._counted()]
        if self.encrypts:
            with b.part("first"):
                keys.longer(states)
            keys.others(states)
            self._write(states)
            self._take(states, self._counted())
            text.advance(size, "next group")
        if self.paired:
            self.S = [self._sums_of_powers(i) for i in range(0, self.count, 2)]
        if self.encrypts:
            b.branch("below", text.length, size, "last")
        with b.loop(GROUP):
            keys.longer(states)
            with stream(text, "hash", end=_HASHED):
                b.assign(self.X, self._hashed())
            with stream(text, "cipher", lean=False):
                keys.others(states)
                self._write(states)
            with stream(text, "counters", end=_COUNTED, lean=False):
                following = self._counted()
            with stream(text, "cipher", lean=False):
                self._take(states, following)
            text.advance(size, "next group")
            b.branch("not_below", text.length, size, GROUP)
        b.label("last")
        if self.encrypts:
            b.assign(self.X, self._hashed())
        text.counters.back(self.count)
        keys.forget()

    def _counted(self) -> list[VReg]:
        return self.keys.whitened(self.text.counters.blocks(self.count))

    def _take(self, states: Sequence[VReg], blocks: Sequence[VReg]) -> None:
        for state, block in zip(states, blocks, strict=True):
            self.b.assign(state, block)

    def _write(self, states: Sequence[VReg]) -> None:
        written = self.text.write(states, key=self.keys.back(0))
        if self.encrypts:
            self._take(self.C, written)

    def _load(self, first: int, lanes: int) -> VReg:
        b, text = self.b, self.text
        if self.encrypts:
            C = self.C[first // lanes]
        else:
            C = b.load(text.at(text.source, BLOCK_BYTES * first), "C, bytes as in memory", lanes)
        return to_register(b, self.hashing, C, "C")

    def _hashed(self) -> VReg:
        """Record GHASH of a group; return the new state."""
        b, hashing, context = self.b, self.hashing, self.text.context
        if self.paired:
            return self._hashed_in_pairs()
        keys = group_keys(b, hashing, context)
        return add_group(b, hashing, context, self.X, self.text.source, keys, load=self._load)

    # Pairs of registers.

    def _powers(self, i: int) -> Value:
        (B,) = entries(self.hashing, self.text.context, self.text.kernel.blocks - i * self.lanes)
        return B

    def _folded(self, one: VReg, other: VReg, note: str) -> VReg:
        b = self.b
        return b.xor(b.join_low(one, other), b.join_high(one, other), note)

    def _sums_of_powers(self, i: int) -> VReg:
        B = [self.b.variable(self._powers(j), "B", lanes=self.lanes) for j in (i, i + 1)]
        return self._folded(B[0], B[1], "S")

    def _hashed_in_pairs(self) -> VReg:
        """Record the same. The first pair waits for the state, so it is the last one here."""
        b, sums = self.b, dict[str, Value]()
        for i in range(self.count - 2, -1, -2):
            b.about(f"C{i + 1}, C{i + 2}")
            A = [self._load(self.lanes * j, self.lanes) for j in (i, i + 1)]
            if i == 0:
                A[0] = b.xor(A[0], self.X, "A = X + C")
            products = _products(b, A, [self._powers(j) for j in (i, i + 1)])
            folded = self._folded(A[0], A[1], "F")
            for halves in (HI_HI, LO_LO):
                products.append(("MI", b.clmul(folded, self.S[i // 2], halves)))
            sums = aggregate.added(b, sums, products)
        for name in ("LO", "HI"):
            sums["MI"] = b.xor(sums["MI"], sums[name], f"MI += {name}")
        b.about("reduce")
        X = finish_group(b, self.hashing, sums, None)
        b.about("")
        return X


def _products(b: Builder, A: Sequence[VReg], B: Sequence[Value]) -> list[tuple[str, VReg]]:
    return [
        (name, b.clmul(one, power, halves))
        for one, power in zip(A, B, strict=True)
        for name, halves in (("LO", LO_LO), ("HI", HI_HI))
    ]
