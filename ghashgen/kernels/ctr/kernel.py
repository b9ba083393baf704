"""An AES-CTR kernel: a key size and a group of blocks, from which name and context derive."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from ghashgen.arch.registry import isas
from ghashgen.arch.rows import Isa
from ghashgen.arch.schedules import WRITTEN
from ghashgen.kernels.aes.axes import ROUND_KEYS, WIPE, group_refusals
from ghashgen.kernels.aes.cipher import ROUNDS
from ghashgen.kernels.axes import Refusals, name_of, require_valid
from ghashgen.kernels.core import CELL_BYTES, Layout
from ghashgen.kernels.ctr.axes import AXES

WORKING_REGISTERS = 5
"""Registers of a group besides its states and held keys: the counters, a text, three constants."""


@dataclass(frozen=True)
class CtrKernel:
    """One variant of AES-CTR: a valid combination of axes.

    Raises:
        GhashgenError: the combination is invalid; names the axis, the reason and what to choose
            instead.
    """

    family: ClassVar[str] = "ctr"
    """See `kernels.ctr.family`."""

    key: int
    isa: str
    blocks: int
    roundkeys: str = ROUND_KEYS.default
    wipe: bool = WIPE.default

    def __post_init__(self) -> None:
        require_valid(AXES, self, _refusals(self))

    @cached_property
    def name(self) -> str:
        """Derived from the axes; an axis at its default adds nothing."""
        return f"ctr{name_of(AXES, self)}"

    @property
    def instruction_set(self) -> Isa:
        """The instruction set."""
        return isas()[self.isa]

    @property
    def lane_count(self) -> int:
        """Blocks in one register."""
        return self.instruction_set.lanes

    @property
    def widest(self) -> int:
        """Lanes of the widest register in use."""
        return self.lane_count

    @property
    def registers(self) -> int:
        """Registers that hold the blocks of a group."""
        return self.blocks // self.lane_count

    @property
    def schedule(self) -> str:
        """Operations are as written: a group is one stream."""
        return WRITTEN

    @property
    def key_bytes(self) -> int:
        """Bytes of an AES key."""
        return self.key // 8

    @property
    def rounds(self) -> int:
        """Number of AES rounds; there is one round key more."""
        return ROUNDS[self.key]

    key_lanes: ClassVar[int] = 1
    """How many times the context holds each round key."""

    @property
    def keys_at(self) -> int:
        """Bytes of the context before the round keys."""
        return 0

    @property
    def held_keys(self) -> int:
        """Round keys in registers: as many as are free beside a group and the counters."""
        return 0 if self.roundkeys == "memory" else self.room

    @property
    def room(self) -> int:
        """Registers that are free for round keys."""
        taken = self.registers + WORKING_REGISTERS
        return max(0, min(self.instruction_set.vector_registers - taken, self.rounds + 1))

    @cached_property
    def layout(self) -> Layout:
        """The layout of the context: the round keys in memory order."""
        return Layout(tuple(f"key{i}" for i in range(self.rounds + 1)))

    @property
    def best_align(self) -> int:
        """Alignment of the context, in bytes, at which no round key crosses a cache line."""
        return CELL_BYTES


def _refusals(kernel: CtrKernel) -> Refusals:
    isa, lanes = kernel.instruction_set, kernel.lane_count
    yield from group_refusals(isa, kernel.blocks, kernel.roundkeys, kernel.room)
    most = isa.vector_registers - WORKING_REGISTERS
    yield (
        kernel.registers > most,
        f"a group of {kernel.blocks} blocks would take {kernel.registers} of "
        f"{isa.vector_registers} vector registers, and {WORKING_REGISTERS} are taken",
        f"choose at most {most * lanes} blocks",
    )
