"""What a search asks of an instruction, for each target: where control goes, what it reads."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from ghashgen.verify.machine.image import Image
from ghashgen.verify.machine.target import Abi

VECTOR, MASK, FLAGS = 32, 64, 72
"""Register numbers: general from 0, then vector, mask, and the flags as one."""


@dataclass(frozen=True)
class Look:
    """What a search asks of an instruction."""

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


def saved_numbers(abi: Abi) -> frozenset[int]:
    """Return the saved registers of a convention by their numbers in one row."""
    return frozenset(abi.saved) | {VECTOR + v for v in abi.saved_vectors}


LOOKS: dict[str, Callable[[Image, int], Look]] = {}
"""By the names of targets: says what is at an address, or refuses it."""


def look_at(image: Image, address: int) -> Look:
    """Return what a search asks of the instruction at an address; a target's module adds itself."""
    name = image.target.name
    if name not in LOOKS:
        import_module(f"{__package__}.{name}")
    return LOOKS[name](image, address)
