"""The type of a trial: how `vendor --try` builds, tests and measures our kernels in a host."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ghashgen.output.artefact import Artefact


@dataclass(frozen=True)
class Edit:
    """What the host's maintainer changes by hand: a line added below another."""

    file: str
    below: str
    """The end of the line above, which occurs once."""
    line: str


@dataclass(frozen=True)
class Trial:
    """How to try a host. Commands are for a shell in a copy of the host's sources."""

    make: str
    """Builds the host, our folder and the timed program; after a change of our files too."""
    tests: tuple[str, ...]
    """The host's own tests, and the one that it got from us."""
    passed: str
    """Pattern for what the tests say at the end."""
    watched: str
    """One of the host's own tests, which must call our kernels."""
    objects: str
    """Pattern of the path of the objects that the build made of our kernels, or their archive; ""
    if it makes none, and its tests compare the code.
    """
    rivals: Mapping[str, str]
    """What we are compared with: for each the command that times it."""
    timed: str
    """The command that times our kernels."""
    package: str = ""
    """The Debian source package, or "" if there is none."""
    marks: tuple[str, ...] = ()
    """Files that the host's sources have. Without a package and these, `files` are the sources,
    and `configure` fetches the rest."""
    folder: str = "ghashgen"
    """Where our folder goes, below the sources."""
    edits: tuple[Edit, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    """Templates of files that the trial adds to the sources, by path: the timed program."""
    programs: Mapping[str, str] = field(default_factory=dict)
    """Programs that the commands start, each with its Debian package."""
    configure: str = "true"
    version: str = "true"
    """Prints what is compared; added to the name of the sources."""
    replaces: bool = False
    """Whether our kernels take the place of the host's own code, which is then built apart."""
    counts_in: str = "{library}_gcm_dispatch.c"
    """The C file of our folder that gets the counters when calls are counted, or a new one."""
    entry: str = "({}):"
    """Pattern of the line where one of some functions begins; {} stands for their names."""
    counting: (
        Callable[[Sequence[Artefact], Mapping[str, str], Sequence[str], Path], Mapping[str, str]]
        | None
    ) = None
    """(kernels, files of our folder, symbols, where to count) → files that count calls; None if
    each function gets a counter at its entry.
    """
