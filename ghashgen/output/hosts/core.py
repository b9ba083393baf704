"""The type of a host: the tree that kernels are vendored into."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ghashgen.kernels.target import Target


@dataclass(frozen=True)
class Host:
    """Where a host wants files, and how it builds them."""

    name: str
    title: str
    place: Callable[[str], str]
    """Path below the folder, of a file by its path below the folder of `ghashgen generate`."""
    build: Callable[[Sequence[str], Target], tuple[str, ...]]
    """Command lines that make objects of the files, by their paths below the folder."""
