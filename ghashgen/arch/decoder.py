"""What audit and placement ask about an instruction in bytes, whatever the architecture.

Each architecture has one decoder, built on an external library. An instruction is that library's
value, and only the decoder that made it reads it. Registers have the names of `Arch.registers`,
whole ones, so a write to a part of a register counts as a write to it.
"""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ghashgen.ir.program import Flow

Native = Any
"""An instruction, as a decoder's library represents it."""

FLAGS = "flags"
"""The name of the flags, as a register."""

CLASSES = ("clmul", "xor", "shuffle", "load", "store", "other")
"""The classes of an audit: shuffle includes bit shifts, xor every bitwise operation; load and store
contain only instructions that do nothing else; other is moves, scalars and branches.
"""


@dataclass(frozen=True)
class Access:
    """A memory access of an instruction."""

    stack: int | None
    """Its start relative to the stack pointer, in bytes; None if the address has another base."""
    size: int
    reads: bool
    writes: bool
    sure: bool
    """Whether all of it is written if any is."""
    constant: bool
    """Whether the address belongs to the code itself: a constant, not a caller's."""


@dataclass(frozen=True)
class Effect:
    """What one instruction reads and writes, except the stack pointer."""

    reads: frozenset[str]
    writes: frozenset[str]
    overwrites: frozenset[str]
    """Registers that keep nothing of their old value."""
    memory: tuple[Access, ...]
    keeps: bool = False
    """Whether each written register takes nothing from another, as with VZEROUPPER."""


@dataclass(frozen=True)
class Ties:
    """What an instruction waits for and what waits for it, from a core's view."""

    reads: tuple[Hashable, ...]
    """Registers that the computation needs; none for a zeroing idiom."""
    writes: tuple[Hashable, ...]
    """Registers, and places on the stack."""
    address: tuple[Hashable, ...]
    """What a load needs: registers of its address, and the stack place that it reads."""


class Decoder(Protocol):
    """Reads the instructions of one architecture."""

    def decode(self, code: bytes) -> Mapping[int, Native]:
        """Return every instruction by offset, including padding between functions."""

    def length(self, instruction: Native) -> int:
        """Return the length in bytes."""

    def offset(self, instruction: Native) -> int:
        """Return its place in the code."""

    def mnemonic(self, instruction: Native) -> str:
        """Return the mnemonic in lower case."""

    def flow(self, instruction: Native) -> Flow:
        """Return where control may go from here.

        Raises:
            ValueError: no row can express it: an indirect branch, an interrupt.
        """

    def target(self, instruction: Native) -> int:
        """Return the target offset of a direct branch, jump or call."""

    def audit_class(self, instruction: Native) -> str:
        """Return its class, one of CLASSES."""

    def reorders(self, instruction: Native) -> bool:
        """Return whether it only reorders the bytes of a block, or the bits of each byte."""

    def has_memory(self, instruction: Native) -> bool:
        """Return whether it has a memory operand; an address alone does not count."""

    def effect(self, instruction: Native) -> Effect:
        """Return what it reads and writes.

        Raises:
            ValueError: it accesses the stack at an unknown place.
        """

    def steps(self, instruction: Native) -> int:
        """Return by how much it moves a 64-bit general register, without sign; 0 if it does not."""

    def lowers_stack(self, instruction: Native) -> int:
        """Return by how many bytes it lowers the stack pointer; negative if it raises it.

        Raises:
            ValueError: the stack pointer changes in another way.
        """

    def features(self, instructions: Iterable[Native]) -> tuple[str, ...]:
        """Return the names of the CPU features that instructions need, sorted."""

    def form(self, instruction: Native) -> str:
        """Return its name in port tables: mnemonic and kinds of operands."""

    def ties(self, instruction: Native) -> Ties:
        """Return what it waits for and what waits for it."""

    def needs(self, instructions: Iterable[Native]) -> tuple[str, ...]:
        """Return the CPU features by their names in port tables, sorted."""
