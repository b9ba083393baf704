"""A target: all that the rules know of an architecture, as one value.

General registers have 64 bits, vector registers lanes of 128 bits, mask registers 64 bits. What is
not said here a target says by the steps of its instructions.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ghashgen.verify.core.refutation import unsupported

if TYPE_CHECKING:
    from ghashgen.verify.machine.image import Image
    from ghashgen.verify.machine.machine import Machine, Step

VECTOR, MASK, FLAGS = 32, 64, 72
"""Register numbers: general from 0, then vector, mask, and the flags as one."""


@dataclass(frozen=True)
class Abi:
    """One convention: register numbers of arguments and saved registers, and the stack's layout."""

    name: str
    arguments: tuple[int, ...]
    saved: tuple[int, ...]
    saved_vectors: tuple[int, ...]
    home_bytes: int
    """Bytes above the return address that the callee may use."""
    red_zone: int
    page: int
    """Bytes by which the stack grows when the guard page below it is touched; 0 if any touch grows
    it.
    """
    saved_bits: int = 128
    """The low bits of a saved vector register that must survive."""

    @property
    def saved_numbers(self) -> frozenset[int]:
        """The saved registers by their numbers in one row."""
        return frozenset(self.saved) | {VECTOR + v for v in self.saved_vectors}


@dataclass(frozen=True)
class Decoded:
    """One instruction, ready to run."""

    step: "Step"
    following: int
    guards: tuple[Callable[["Machine"], None], ...]
    """What is checked before it: that no secret is in its address, nor in what its time depends
    on."""
    vectors: tuple[int, ...]
    """The vector registers that it writes."""
    accesses: bool = False
    """Whether it accesses its memory operand, whatever its result depends on."""


@dataclass(frozen=True)
class Look:
    """What a search asks of an instruction. No rule depends on it."""

    following: int
    ways: tuple[int, ...] | None
    """Where control may go next, the target of a jump or call last; None: the code does not say."""
    call: bool
    """Whether control comes back behind it."""
    reads: frozenset[int]
    writes: frozenset[int]
    """Numbers of the registers that it reads, and of those that it always writes."""
    rounds: bool = False
    """Whether it rounds the stack pointer, to align a frame."""


@dataclass(frozen=True, eq=False)
class Target:
    """One architecture."""

    name: str
    general: tuple[str, ...]
    vectors: tuple[str, ...]
    masks: tuple[str, ...]
    """The names of its registers."""
    lanes: int
    """Lanes of a vector register."""
    stack_pointer: int
    result: int
    """The general registers that hold the stack pointer, and a returned number."""
    return_bytes: int
    """Bytes of the return address, where the stack pointer is at the entry; 0 if it is in a
    register, which its return reads."""
    stack_align: tuple[int, int]
    """The stack pointer at the entry, modulo so much."""
    conventions: Mapping[str, Abi]
    decode: "Callable[[Image, int], Decoded]"
    """Decodes the instruction at an address, or refuses it."""
    check_entry: "Callable[[Image, str], None]"
    """Checks what an object's notes promise of a function's first instruction."""
    text: "Callable[[Image, int], str]"
    """Says an instruction in words."""
    look: "Callable[[Image, int], Look]"
    """Says for a search what is at an address, or refuses it."""

    def convention(self, name: str) -> Abi:
        """Return a convention by its name.

        Raises:
            Refutation: the target has none of this name.
        """
        if name not in self.conventions:
            raise unsupported(f"no convention {name} of {self.name}")
        return self.conventions[name]
