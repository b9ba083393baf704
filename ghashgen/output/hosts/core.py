"""The type of a host: a tree that kernels are vendored into."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ghashgen.kernels.target import Target


@dataclass(frozen=True)
class Host:
    """Where a host wants files, and how it builds them."""

    name: str
    title: str
    place: Callable[[str], str]
    """Maps a file's path in the folder of `ghashgen generate` to its path in the host's folder."""
    build: Callable[[Sequence[str], Target], tuple[str, ...]]
    """Returns the command lines that build the objects, given the files' paths below the folder."""
