"""The type of a host: a tree that kernels are vendored into."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ghashgen.kernels.core import Keyed, Point
from ghashgen.kernels.families import families, functions_of
from ghashgen.kernels.target import Target
from ghashgen.output.artefact import Artefact
from ghashgen.output.hosts.trial import Trial
from ghashgen.support.errors import GhashgenError
from ghashgen.support.toolchain import Tool

BUILD_FILES: Mapping[str, str] = MappingProxyType(
    {
        "CMakeLists.txt": "library/CMakeLists.txt.j2",
        "meson.build": "library/meson.build.j2",
        "{library}.mk": "library/make.mk.j2",
        "{library}.pc": "library/pkg-config.pc.j2",
    }
)
"""Files that build a static library of a folder's files, for hosts that build by such tools."""


def make_files(name: str, template: str) -> Mapping[str, str]:
    """Return the build files of a host whose build is make: `name` includes the fragment."""
    fragment = "{library}.mk"
    return {fragment: BUILD_FILES[fragment], name: template}


@dataclass(frozen=True)
class Wanted:
    """The kernels that a host takes: by default those of `vendor --recommended` for this use."""

    family: str
    use: str
    axes: Mapping[str, tuple[Any, ...]]
    """Values of axes that the caller does not restrict."""
    functions: frozenset[str]
    """What each kernel must export, because the host's files call it."""
    instead: Mapping[str, Any] = field(default_factory=dict)
    """Values of axes in which the host's kernels differ from those that the rule names."""
    made: Callable[[], tuple[Point, ...]] = tuple
    """Returns the kernels made for this host alone; none if it takes those of the rule."""
    added: Callable[[], tuple[Point, ...]] = tuple
    """Returns kernels that it takes beside those of the rule."""

    def require(self, kernels: Sequence[Point], host: str) -> None:
        """Refuse kernels of which the host's files could not be built.

        Raises:
            GhashgenError: says what is missing.
        """
        own = [kernel for kernel in kernels if kernel.family == self.family]
        lacking = [kernel.name for kernel in own if self.functions - {*functions_of(kernel)}]
        if own and not lacking:
            return
        title, needed = families()[self.family].title, " and ".join(sorted(self.functions))
        raise GhashgenError(
            f"host {host} needs kernels of {title} that export {needed}, and "
            + (f"{lacking[0]} does not" if lacking else "you chose none"),
            "leave the choice of kernels to the host, or choose such kernels",
        )


@dataclass(frozen=True)
class Host:
    """What a host needs and gets, where it wants files, and how it builds them."""

    name: str
    title: str
    place: Callable[[str], str]
    """Maps a file's path in the folder of `ghashgen generate` to its path in the host's folder."""
    build: Callable[[Sequence[str], Sequence[Target]], tuple[str, ...]]
    """Returns the command lines that build the objects, given the files' paths below the folder."""
    build_files: Mapping[str, str] = field(default_factory=lambda: BUILD_FILES)
    """Templates of the build files, by path below the host's folder. In a path, {library} stands
    for the folder's name in C, which is ghashgen behind the prefix.
    """
    files: Mapping[str, str] = field(default_factory=dict)
    """Templates of the other files that the host adds, by path in the same way."""
    test: str = ""
    """The path of the test among `files`, which build files then run."""
    needs: tuple[str, ...] = ()
    """What the host's build takes, in words."""
    gets: str = ""
    """What the host can call then, in words."""
    prefix: str = ""
    """What symbols begin with, if the caller says nothing else."""
    portable: bool = False
    """Whether it takes our portable code for CPUs that can run no kernel; others have their own."""
    table_align: int = 0
    """The alignment of tables in bytes that the host promises; 0 for what kernels need."""
    syntax: str = ""
    """The syntax of the kernels, if the caller says nothing else."""
    wanted: Wanted | None = None
    """The kernels that it takes, or None for whatever the caller chooses."""
    assembled: Callable[[Sequence[Artefact], Tool], Mapping[str, str]] | None = None
    """(kernels, their assembler) → files by path, in place of the kernels' texts, the header and
    the dispatchers; None for a host of C.
    """
    styled: Callable[[str], str] = str
    """Returns a kernel's text in the host's style. It is the same code."""
    caller: str = ""
    """The file that calls such kernels."""
    trial: Trial | None = None
    """How to try the kernels in the host's own sources, if that is known."""
    values: Callable[[Sequence[Point]], Mapping[str, Any]] = lambda kernels: {}
    """Returns what the templates need to know of the kernels."""


def key_bits(kernels: Sequence[Point]) -> Mapping[str, Any]:
    """Return the key sizes of the kernels of AES-GCM, for templates."""
    own = (kernel for kernel in kernels if kernel.family == "gcm")
    sizes = {kernel.key_bytes for kernel in own if isinstance(kernel, Keyed)}
    return {"key_bits": [8 * size for size in sorted(sizes)]}
