"""AES (FIPS 197, section 5.1) on several registers side by side, and its round keys in the context.

The text joins the last round key before it is added, while the rounds still run:
E(S) + P = ShiftRows(SubBytes(S)) + (k_Nr + P).
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from ghashgen.ir.builder import Builder, Value
from ghashgen.ir.program import Mem, VReg
from ghashgen.kernels.core import CELL_BYTES
from ghashgen.kernels.memory import IN_TABLE

ROUNDS = {128: 10, 192: 12, 256: 14}
"""Nr of FIPS 197, table 3, by key size in bits."""


class AesKernel(Protocol):
    """What AES needs to know of a kernel."""

    @property
    def lane_count(self) -> int:
        """Blocks in one register."""

    @property
    def rounds(self) -> int:
        """Number of AES rounds; there is one round key more."""

    @property
    def keys_at(self) -> int:
        """Bytes of the context before the round keys."""

    @property
    def key_lanes(self) -> int:
        """How many times the context holds each round key, one copy behind another."""


def round_key_cell(kernel: AesKernel, context: VReg, i: int) -> Mem:
    """Return where the context holds k_i."""
    at = kernel.keys_at + CELL_BYTES * kernel.key_lanes * i
    return Mem(base=context, disp=at, align=CELL_BYTES, within=IN_TABLE)


class RoundKeys:
    """The round keys in every lane. Some stay in registers; the others are loaded where used."""

    def __init__(
        self, b: Builder, kernel: AesKernel, context: VReg, held: range = range(0)
    ) -> None:
        """Record the loads of the keys of these numbers, for full registers."""
        self._b, self._kernel, self._context = b, kernel, context
        self._held = {i: self._load(i, kernel.lane_count) for i in held}

    @property
    def rounds(self) -> int:
        """Rounds of AES."""
        return self._kernel.rounds

    @property
    def most_lanes(self) -> int:
        """Lanes in which the context holds each key."""
        return self._kernel.key_lanes

    @property
    def apart(self) -> int:
        """Bytes from one to the next."""
        return CELL_BYTES * self._kernel.key_lanes

    def key(self, i: int, lanes: int) -> VReg:
        """Return k_i in `lanes` lanes."""
        if i in self._held and lanes == self._kernel.lane_count:
            return self._held[i]
        return self._load(i, lanes)

    def operand(self, i: int, lanes: int) -> Value:
        """Return k_i in `lanes` lanes for one operation: in memory, if it is there in every lane,
        and not in a register.
        """
        held = i in self._held and lanes == self._kernel.lane_count
        if held or not 1 < self._kernel.key_lanes >= lanes:
            return self.key(i, lanes)
        return round_key_cell(self._kernel, self._context, i)

    def last(self, lanes: int) -> VReg:
        """Return k_Nr in `lanes` lanes."""
        return self.key(self.rounds, lanes)

    def end(self) -> VReg:
        """Record the load of the last key's place, in bytes behind k_0, from the context."""
        place = round_key_cell(self._kernel, self._context, self._kernel.rounds + 1)
        return self._b.gpr("gpr_load64", place, note="place of k_Nr, from k_0")

    def indexed(self, i: VReg, key: int, lanes: int) -> VReg:
        """Record the load of the key that stands `i` bytes behind a key."""
        place = replace(round_key_cell(self._kernel, self._context, key), index=i)
        return self._at(place, lanes, "k_i")

    def _load(self, i: int, lanes: int) -> VReg:
        return self._at(round_key_cell(self._kernel, self._context, i), lanes, f"k_{i}")

    def _at(self, place: Mem, lanes: int, note: str) -> VReg:
        if lanes <= self._kernel.key_lanes:
            return self._b.load(place, note, lanes)
        return self._b.load_spread(place, lanes, note)


def rounds(b: Builder, keys: RoundKeys, blocks: Sequence[VReg]) -> list[VReg]:
    """Record k_0 and all rounds but the last. All registers must have the same width."""
    lanes = b.lanes_of(blocks[0])
    first = keys.operand(0, lanes) if len(blocks) == 1 else keys.key(0, lanes)
    return inner_rounds(b, keys, [b.xor(block, first, "+ k_0") for block in blocks])


def inner_rounds(b: Builder, keys: RoundKeys, states: Sequence[VReg]) -> list[VReg]:
    """Record all rounds but the last, for states with k_0 already added. The first is the widest.

    Each operation reads its key in memory if together they read no more than the widest register.
    """
    widths, out = [b.lanes_of(state) for state in states], [*states]
    for i in range(1, keys.rounds):
        if sum(widths) <= keys.most_lanes:
            found = [keys.operand(i, lanes) for lanes in widths]
        else:
            key = keys.key(i, widths[0])
            found = [b.first_lanes(key, lanes) for lanes in widths]
        note = f"round {i}"
        out = [b.aes_round(state, key, note) for state, key in zip(out, found, strict=True)]
    return out


def add_text(b: Builder, state: VReg, key: Value, text: Value, note: str) -> VReg:
    """Record the last round with the text added: E + P. One of key and text is in a register."""
    first, second = (text, key) if isinstance(key, Mem) else (key, text)
    return b.aes_last(state, b.xor(first, second, "k_Nr + text"), note)
