"""The type of a trial: how `vendor --try` builds a host with its own code, and with our kernels."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Edit:
    """What the host's maintainer changes by hand: a line added below another."""

    file: str
    below: str
    """The end of the line above, which occurs once."""
    line: str


@dataclass(frozen=True)
class Trial:
    """How to build, test and measure a host. Commands are for a shell in the sources' folder."""

    package: str
    """The Debian source package."""
    marks: tuple[str, ...]
    """Files that the host's sources have."""
    folder: str
    """Where our folder goes, below the sources."""
    edits: tuple[Edit, ...]
    programs: Mapping[str, str]
    """Programs that the commands start, each with its Debian package."""
    configure: str
    make: str
    """Builds the library; after a change of our files too."""
    tests: tuple[str, ...]
    """The host's own tests, and the one that it got from us."""
    passed: str
    """Pattern for what the tests say at the end."""
    watched: str
    """One of the host's own tests, which calls our kernels: it must fail when they trap."""
    library: str
    """The static library that `make` builds."""
    measure: str
    """Template of the program that times the host's functions."""
    flags: tuple[str, ...] = ()
    """The compiler's options for that program."""
