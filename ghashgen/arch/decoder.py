"""What audit and placement ask of an instruction in bytes, whatever the architecture.

Each architecture has one decoder, over a library of others. An instruction is whatever that library
gives, and opaque to everybody else: only the decoder it came from reads it. Registers have the
names of `Arch.registers`, whole ones, so that a write to a part of a register is a write to it.
"""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ghashgen.ir.program import Flow

Native = Any
"""An instruction as a decoder's library has it."""

FLAGS = "flags"
"""The name of the flags, as a register."""

CLASSES = ("clmul", "xor", "shuffle", "load", "store", "other")
"""What an audit counts: shuffle holds bit shifts too, xor every bitwise operation, load and store
only instructions that do nothing else, other moves, scalars and branches."""


@dataclass(frozen=True)
class Access:
    """Bytes of memory that an instruction reads or writes."""

    stack: int | None
    """Where they start, in bytes from the stack pointer; None if the address has another base."""
    size: int
    reads: bool
    writes: bool
    sure: bool
    """Whether all of it is written whenever any is."""
    constant: bool
    """Whether the address is of the code's own: a constant, which no caller passed."""


@dataclass(frozen=True)
class Effect:
    """What one instruction reads and writes, the stack pointer aside."""

    reads: frozenset[str]
    writes: frozenset[str]
    overwrites: frozenset[str]
    """Registers of which nothing is left of what they held."""
    memory: tuple[Access, ...]
    keeps: bool = False
    """Whether each register that it writes takes nothing from another: VZEROUPPER."""


@dataclass(frozen=True)
class Ties:
    """What an instruction waits for and what waits for it, as a core sees it."""

    reads: tuple[Hashable, ...]
    """Registers that the computation needs; an idiom that zeroes needs none."""
    writes: tuple[Hashable, ...]
    """Registers, and places on the stack."""
    address: tuple[Hashable, ...]
    """What a load needs: registers of its address, and the place on the stack that it reads."""


class Decoder(Protocol):
    """Reads the instructions of one architecture."""

    def decode(self, code: bytes) -> Mapping[int, Native]:
        """Return every instruction by offset, padding between functions included."""

    def length(self, instruction: Native) -> int:
        """Return the length in bytes."""

    def offset(self, instruction: Native) -> int:
        """Return where it stands in the code."""

    def mnemonic(self, instruction: Native) -> str:
        """Return the mnemonic in lower case."""

    def flow(self, instruction: Native) -> Flow:
        """Return where control may go from here.

        Raises:
            ValueError: somewhere that no row can say: an indirect branch, an interrupt.
        """

    def target(self, instruction: Native) -> int:
        """Return the offset that a branch, a jump or a call of known target goes to."""

    def audit_class(self, instruction: Native) -> str:
        """Return which of CLASSES it is counted as."""

    def reorders(self, instruction: Native) -> bool:
        """Whether it only puts the bytes of a block, or the bits of each, in another order."""

    def has_memory(self, instruction: Native) -> bool:
        """Whether an operand is in memory; an address alone is not."""

    def effect(self, instruction: Native) -> Effect:
        """Return what it reads and writes.

        Raises:
            ValueError: an access to the stack whose place is not known.
        """

    def steps(self, instruction: Native) -> int:
        """Return by how much it moves a 64-bit general register, without sign; 0 if it does not."""

    def lowers_stack(self, instruction: Native) -> int:
        """Return the bytes by which the stack pointer falls; negative where it rises.

        Raises:
            ValueError: it changes in a way that is not followed.
        """

    def features(self, instructions: Iterable[Native]) -> tuple[str, ...]:
        """Return the names of the CPU features that instructions need, sorted."""

    def form(self, instruction: Native) -> str:
        """Return what tables of cores call it: mnemonic and kinds of operands."""

    def ties(self, instruction: Native) -> Ties:
        """Return what it waits for and what waits for it."""

    def needs(self, instructions: Iterable[Native]) -> tuple[str, ...]:
        """Return the CPU features as tables of cores name them, sorted."""
