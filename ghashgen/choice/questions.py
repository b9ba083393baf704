"""What is asked when a kernel of a family is chosen, as values: uses, and what decides each.

    Use("packets", "packets", ((IMIX,),), (ANY,), exports=SEALING)

A family of which something can be chosen has a file in `choice.families`, which exports QUESTION.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ghashgen.choice.classes import SizeClass
from ghashgen.records.records import folder_of


@dataclass(frozen=True)
class Use:
    """What a kernel is to be used for."""

    name: str
    title: str
    """In words: what a caller does."""
    modes: tuple[tuple[str, ...], ...]
    """How calls were measured: groups of modes, the preferred first; the modes of a group have the
    same say in a score."""
    classes: tuple[SizeClass, ...]
    """Lengths that may take kernels of their own, in ascending order."""
    exports: frozenset[str] = frozenset()
    """Functions that a kernel must have."""
    once: bool = False
    """Whether a table serves one message alone, whose time has that of key set-up in it."""
    fills: bool = False
    """Whether a key may hold several tables, each filled once its messages have paid for it."""


@dataclass(frozen=True)
class Question:
    """What is chosen among the kernels of a family."""

    family: str
    given: str
    """The axis whose value is the caller's need and no choice: the function, the size of a key."""
    values: tuple[Any, ...]
    """Its values."""
    asked: tuple[Any, ...]
    """Those that are meant where nobody names one."""
    uses: tuple[Use, ...]
    """The first is meant where nobody names one."""
    least: str
    """What a CPU needs for any kernel at all, in words."""
    instead: str
    """What to take where it lacks that."""
    dispatched: tuple[Use, ...]
    """Those that its dispatcher knows."""
    longest: int
    """Bytes of the longest message that the standard has."""
    limit: str
    """Why there is none longer, in words."""
    files: str = ""
    """What the names of its dispatcher's files, functions and types have behind the library's."""
    measured_as: Callable[[str, Mapping[str, Any]], str] = lambda name, axes: name
    """(name, axes of a kernel) → the kernel whose figures stand for it."""
    differs: str = ""
    """How a kernel differs from the one whose figures stand for it."""

    def use(self, name: str) -> Use:
        """Return a use by its name."""
        return next(use for use in self.uses if use.name == name)

    @property
    def folder(self) -> str:
        """Where the records that decide lie, below the project's root."""
        return folder_of(self.family)
