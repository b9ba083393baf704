"""Classes of message lengths, and the sizes that represent them."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, fsum, log

from ghashgen.records.core import size_name


@dataclass(frozen=True)
class SizeClass:
    """Messages longer than the previous class and up to `up_to` bytes; None has no limit."""

    up_to: int | None
    sizes: tuple[int, ...]
    """In bytes; a class's score is the geometric mean of the cycles at these sizes."""

    @property
    def title(self) -> str:
        """The class's name in tables."""
        return "more" if self.up_to is None else f"to {size_name(self.up_to)}"


CLASSES = (
    SizeClass(16, (16,)),
    SizeClass(64, (32, 48, 64)),
    SizeClass(256, (96, 128, 192, 256)),
    SizeClass(1024, (512, 1024)),
    SizeClass(4096, (1500, 4096)),
    SizeClass(None, (16384,)),
)
"""From one block to long messages, with every short size that is recorded, since a kernel that is
fast at one may be slow at the next. 1500 bytes end in a partial block.
"""


ANY_LENGTH = SizeClass(None, (0,))
"""The only class of uses without a length."""


def sizes_of(classes: tuple[SizeClass, ...]) -> tuple[int, ...]:
    """Return the sizes to measure, each once."""
    return tuple(dict.fromkeys(size for item in classes for size in item.sizes))


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean, which gives a class's sizes equal weight whatever their length."""
    return exp(fsum(log(value) for value in values) / len(values))
