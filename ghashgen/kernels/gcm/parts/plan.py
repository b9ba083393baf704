"""A message's text on straight paths: one plan, given by its parameters.

A text of m blocks, the last perhaps partial, is one pass of the cipher, one sum and one reduction:

    S·H^(m+2) + C_1·H^(m+1) + … + C_m·H^2 + lengths·H        a message without groups
    (X + C_1)·H^(m+1) + C_2·H^m + … + C_m·H^2 + lengths·H    after whole groups

S is the AAD's hash before its last multiplication (`message`). Text lies in registers of L lanes as
it does in memory, C_1 in lane 0. Every number of registers has its own path. What waits for no
cipher is multiplied first: S and the lengths, and in an open the text. `few` and `straight` have
what surrounds the paths; `ends` reads and writes the last register.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import chain

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.schemes import aggregate
from ghashgen.ir.builder import Builder, Value
from ghashgen.ir.program import Mem, VReg
from ghashgen.kernels.aes.cipher import add_text
from ghashgen.kernels.gcm.parts.ends import End, last_lane
from ghashgen.kernels.gcm.parts.text import Place, stream
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.hash.parts.interface import entries, to_register

Sums = Mapping[str, Value]
"""The accumulators of a sum of products, by name."""

MIDDLE = 0.5
"""Where the second half of a path begins, in time."""

States = tuple[list[VReg], VReg | None]
"""All rounds but the last: of the text, and of J_0 if that has a state of its own."""


def half(count: int) -> int:
    """Return how many of a seal's registers go through the cipher before the others; 0: none.

    Three registers side by side, with a hash beside them, keep a core busy.
    """
    return -(-count // 2) if count >= 6 else 0


def products(
    b: Builder, hashing: Kernel, sums: Sums, A: VReg, keys: Sequence[Value], subject: str = ""
) -> Sums:
    """Record the sums with the products of one more register."""
    if subject:
        b.about(subject)
    out = aggregate.accumulate(b, hashing.multiplier, hashing.bit_order, sums, A, keys)
    if subject:
        b.about("")
    return out


def accumulators(text: Place) -> dict[str, VReg]:
    """Return the registers in which all paths leave their sums."""
    names, lanes = text.kernel.hash.multiplier.accumulators, text.kernel.lane_count
    return {name: text.b.register(name, lanes) for name in names}


def assign(b: Builder, acc: Mapping[str, VReg], sums: Sums) -> None:
    """Record sums, where all paths leave theirs."""
    for name, register in acc.items():
        b.assign(register, sums[name])


def choose(
    b: Builder,
    length: VReg,
    cases: Mapping[int, Callable[[], None]],
    label: Callable[[int], str],
    lower: Callable[[int], int],
) -> None:
    """Record cases by their least numbers of bytes, the shortest first, and select one.

    `lower` returns how many of so many cases go below a branch.
    """
    if len(cases) == 1:
        return next(iter(cases.values()))()
    at = [*cases][lower(len(cases))]
    b.branch("not_below", length, at, label(at))
    choose(b, length, {n: case for n, case in cases.items() if n < at}, label, lower)
    b.label(label(at))
    choose(b, length, {n: case for n, case in cases.items() if n >= at}, label, lower)
    return None


@dataclass(frozen=True)
class Plan:
    """The parameters of a kind of paths."""

    hash: str = "before"
    """When text is hashed: "before" or "after" the cipher, each register "in turn", or "never",
    because `sums` has it. A seal hashes after the cipher what an open hashes before it.
    """
    first_last: bool = False
    """Whether C_1 is hashed last, because it waits for X."""
    streams: bool = False
    """Whether cipher and hash are streams, which are interleaved."""
    notes: tuple[str, str, str, str] = ("", "", "text", "other text")
    """Comments: subjects of the cipher and of products (of register {}), what is read, written."""


NARROW = Plan("before")
SINGLE = Plan("after")
"""One block in narrow registers."""
SHORT = Plan("in turn")
ONE = Plan("never")
"""A short text in one register with S and the lengths."""
WIDE = Plan(
    first_last=True,
    streams=True,
    notes=("AES", "C{}", "C, bytes as in memory", "last round: the other text"),
)


@dataclass(frozen=True)
class Path:
    """One path: `count` registers, of which `end` is the last if that need not be whole.

    `cipher` records all rounds but the last of so many registers; its second argument is `free`.
    `mask` takes E_K(J_0), or is None if that is known. C_1 meets H^`power`, counted at `base`.
    `sums` records what is summed before the text, and `acc` takes all sums.
    """

    plan: Plan
    text: Place
    encrypts: bool
    acc: Mapping[str, VReg]
    cipher: Callable[[int, bool], States]
    mask: VReg | None
    count: int
    end: End | None
    base: VReg
    power: int
    sums: Callable[[], Sums] = dict
    free: bool = False
    """Whether the last register has a lane for J_0."""
    state: VReg | None = None
    """X, which joins C_1."""
    begin: Callable[[int], list[VReg]] | None = None
    """Records all rounds but the last of the first half of a seal, which is hashed beside the
    second; `cipher` then records those of the second.
    """

    def record(self) -> None:
        """Record the path up to its sums."""
        b, plan, end, keys = self.text.b, self.plan, self.end, self.text.keys
        lanes, in_turn = self.text.kernel.lane_count, plan.hash == "in turn"
        early = plan.hash == "before" and not self.encrypts
        outs, last = list[VReg](), list[Callable[[], VReg]]()
        hashed = half(self.count) if self.begin else 0
        with self._stream("hash", end=MIDDLE if hashed else 1.0):
            sums = self.sums()
            if early:
                sums = self.hash(sums, self.given())
        if self.begin and hashed:
            with self._stream("cipher", lean=False):
                b.about(plan.notes[0])
                for i, state in enumerate(self.begin(hashed)):
                    outs.append(self._write(state, keys.last(lanes), i))
                b.about("")
            with self._stream("hash of the first half", start=MIDDLE):
                sums = self.hash(sums, outs)
        with self._stream("cipher", lean=False):
            b.about(plan.notes[0])
            states, J0 = self.cipher(self.count - hashed, self.free)
            held = None if in_turn or plan.hash == "never" else keys.last(lanes)
            if held is None:
                self._own_mask(J0, None)
            for i in range(hashed, self._whole):
                raw = self._load(i) if in_turn else None
                key = held or self._last_key(lanes)
                outs.append(self._write(states[i - hashed], key, i, raw))
                if raw is not None:
                    sums = self.hash(sums, [outs[-1] if self.encrypts else raw], i)
            if end is not None:
                taken = b.lanes_of(states[-1])
                key, given = held or self._last_key(taken), b.first_lanes(end.given, taken)
                written = add_text(b, states[-1], key, given, plan.notes[3])
                if held is not None:
                    self._own_mask(J0, held)
                if self.free and self.mask is not None:
                    b.assign(self.mask, last_lane(b, self.text.kernel, written))
                written = end.keep(written)
                last.append(end.ciphertext(written, outs, self.encrypts))
            b.about("")
        if not early and plan.hash != "never":
            rest, first = ((), self._whole) if in_turn else (outs[hashed:], hashed)
            sums = self.hash(sums, chain(rest, (C() for C in last)), first)
        assign(b, self.acc, sums)
        if end is not None and end.late and end.kept is None:
            end.put(written, outs)

    def given(self) -> Iterator[VReg]:
        """Record the loads of the input text, zero-padded, as they are asked for."""
        return chain(map(self._load, range(self._whole)), [self.end.given] if self.end else [])

    def hash(self, sums: Sums, ciphertext: Iterable[VReg], first: int = 0) -> Sums:
        """Record the sums with the products of registers from number `first` on."""
        b, kernel = self.text.b, self.text.kernel
        registers: Iterable[tuple[int, VReg]] = enumerate(ciphertext, first)
        if self.plan.first_last:
            loaded = [*registers]
            registers = [*loaded[1:], *loaded[:1]]
        for i, C in registers:
            A = to_register(b, kernel.hash, C, "C")
            if i == 0 and self.state is not None:
                A = b.xor(A, self.state, "A = X + C")
            keys = entries(kernel.hash, self.base, self.power - i * kernel.lane_count)
            sums = products(b, kernel.hash, sums, A, keys, self.plan.notes[1].format(i + 1))
        return sums

    def _write(self, state: VReg, key: Value, i: int, raw: VReg | None = None) -> VReg:
        """Record the last round of register i, and its store."""
        b, other = self.text.b, raw or self._place(self.text.source, i)
        out = add_text(b, state, key, other, self.plan.notes[3])
        b.store(self._place(self.text.out, i), out, "written")
        return out

    @property
    def _whole(self) -> int:
        """Registers before the last."""
        return self.count - (self.end is not None)

    def _place(self, base: VReg, i: int) -> Mem:
        return self.text.at(base, BLOCK_BYTES * self.text.kernel.lane_count * i)

    def _load(self, i: int) -> VReg:
        place, lanes = self._place(self.text.source, i), self.text.kernel.lane_count
        return self.text.b.load(place, self.plan.notes[2], lanes)

    def _own_mask(self, J0: VReg | None, key: VReg | None) -> None:
        """Record E_K(J_0) if J_0 has a state of its own."""
        b, kernel = self.text.b, self.text.kernel
        if J0 is not None and self.mask is not None:
            lanes = b.lanes_of(J0) if kernel.instruction_set.partial_registers else 1
            state, own = b.first_lanes(J0, lanes), key and b.first_lanes(key, lanes)
            E = b.aes_last(state, own or self._last_key(lanes), "E_K(J_0)")
            b.assign(self.mask, b.first_lane(E))

    def _last_key(self, lanes: int) -> Value:
        """Return k_Nr for one operation."""
        keys = self.text.keys
        return keys.operand(keys.rounds, lanes)

    def _stream(
        self, name: str, start: float = 0.0, end: float = 1.0, lean: bool = True
    ) -> AbstractContextManager[None]:
        way = self.plan.streams
        return stream(self.text, name, start, end, lean=lean) if way else nullcontext()
