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


@dataclass(frozen=True)
class Decoded:
    """One instruction, ready to run."""

    step: "Step"
    following: int
    guards: tuple[Callable[["Machine"], None], ...]
    """What is checked before it: that no secret is in its address, nor in what its time depends
    on."""
    accesses: bool = False
    """Whether it accesses its memory operand, whatever its result depends on."""


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

    def convention(self, name: str) -> Abi:
        """Return a convention by its name.

        Raises:
            Refutation: the target has none of this name.
        """
        if name not in self.conventions:
            raise unsupported(f"no convention {name} of {self.name}")
        return self.conventions[name]
