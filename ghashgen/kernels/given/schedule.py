"""Round keys in a host's schedule, counted from the last: one code for keys of every size.

Every size has k_0 and ten keys more. The rounds that only longer keys have come first.
"""

from collections.abc import Sequence

from ghashgen.ir.builder import Builder
from ghashgen.ir.program import Mem, VReg
from ghashgen.kernels.aes.cipher import ROUNDS, RoundKeys
from ghashgen.kernels.core import CELL_BYTES
from ghashgen.kernels.given.interface import Interface
from ghashgen.kernels.given.kernel import Sized

LEAST = min(ROUNDS.values())


class Behind(RoundKeys):
    """The keys in every lane. Some stay in registers; the others are loaded where used."""

    def __init__(self, b: Builder, kernel: Sized, schedule: VReg, host: Interface) -> None:
        """Record where the last key is."""
        super().__init__(b, kernel, schedule)
        self._all = kernel.lane_count
        self._schedule, self._told_as = schedule, host.told
        place = Mem(base=schedule, disp=host.rounds_at)
        self._told = b.gpr("gpr_load8", place, note="the rounds, as the schedule tells them")
        scale = CELL_BYTES // host.rounds_times
        offset = b.gpr("gpr_shl", self._told, scale.bit_length() - 1)
        last = Mem(base=schedule, index=offset, disp=scale * host.rounds_less)
        self._end = b.gpr("gpr_address", last, note="k_Nr")
        self._kept = dict[int, VReg]()

    def keep(self, count: int) -> None:
        """Record the loads of k_0 and of the last `count` keys, which stay in registers."""
        self._kept = {-1: self.first(), **{back: self.back(back) for back in range(count)}}

    def forget(self) -> None:
        """Let no key stay in a register."""
        self._kept = {}

    def first(self) -> VReg:
        """Return k_0."""
        place = Mem(base=self._schedule)
        return self._kept.get(-1) or self._b.load_spread(place, self._all, "k_0")

    def back(self, count: int) -> VReg:
        """Return the key `count` rounds before the last."""
        place = Mem(base=self._end, disp=-CELL_BYTES * count)
        note = f"k_(Nr-{count})" if count else "k_Nr"
        return self._kept.get(count) or self._b.load_spread(place, self._all, note)

    def last(self, lanes: int) -> VReg:
        """Return k_Nr in `lanes` lanes."""
        return self._b.first_lanes(self.back(0), lanes)

    def whitened(self, blocks: Sequence[VReg]) -> list[VReg]:
        """Record the addition of k_0."""
        first = self.first()
        return [self._b.xor(block, first, "+ k_0") for block in blocks]

    def longer(self, states: Sequence[VReg]) -> None:
        """Record the rounds of longer keys alone, with branches over them."""
        b = self._b
        b.branch("equal", self._told, self._told_as(LEAST), f"left_{LEAST}")
        b.branch("equal", self._told, self._told_as(LEAST + 2), f"left_{LEAST + 2}")
        for back in range(LEAST + 3, LEAST - 1, -1):
            if back == LEAST + 1:
                b.label(f"left_{LEAST + 2}")
            self._round(states, back)
        b.label(f"left_{LEAST}")

    def others(self, states: Sequence[VReg]) -> None:
        """Record the rounds of all keys, without the last one."""
        for back in range(LEAST - 1, 0, -1):
            self._round(states, back)

    def _round(self, states: Sequence[VReg], back: int) -> None:
        key = self.back(back)
        for state in states:
            self._b.assign(state, self._b.aes_round(state, key, f"round Nr-{back}"))
