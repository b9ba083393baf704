"""The type of a host: a tree that kernels are vendored into."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ghashgen.kernels.target import Target

BUILD_FILES: Mapping[str, str] = MappingProxyType(
    {
        "CMakeLists.txt": "library/CMakeLists.txt.j2",
        "meson.build": "library/meson.build.j2",
        "{library}.mk": "library/make.mk.j2",
        "{library}.pc": "library/pkg-config.pc.j2",
    }
)
"""Files that build a static library of a folder's files, for hosts that build by such tools."""


@dataclass(frozen=True)
class Host:
    """Where a host wants files, and how it builds them."""

    name: str
    title: str
    place: Callable[[str], str]
    """Maps a file's path in the folder of `ghashgen generate` to its path in the host's folder."""
    build: Callable[[Sequence[str], Target], tuple[str, ...]]
    """Returns the command lines that build the objects, given the files' paths below the folder."""
    files: Mapping[str, str]
    """Templates of the files that the host adds, by path below its folder. In a path, {library}
    stands for the folder's name in C, which is ghashgen behind the prefix.
    """
