"""The question of a family: the uses of its kernels, and which measurements decide each.

    Use("packets", "packets", ((IMIX,),), (ANY,), exports=SEALING)

A family with choices has a file in `choice.families` that exports QUESTION.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

from ghashgen.choice.classes import SizeClass
from ghashgen.records.records import folder_of


@dataclass(frozen=True)
class Use:
    """A use of a kernel."""

    name: str
    title: str
    """What a caller does, in words."""
    modes: tuple[tuple[str, ...], ...]
    """Which measurements count: groups of modes in order of preference; the modes of a group have
    equal weight in a score.
    """
    classes: tuple[SizeClass, ...]
    """Classes of lengths that may have different kernels, ascending."""
    exports: frozenset[str] = frozenset()
    """Functions that a kernel must have."""
    up_to: int | None = None
    """The longest message in bytes that it is for; None for no limit."""
    messages: int | None = None
    """Messages under a key, each with its share of key set-up; None: too many for it to count."""
    fills: bool = False
    """Whether a key may hold several tables, each filled once its messages have paid for it."""
    prefers: frozenset[str] = frozenset()
    """Functions that a kernel should have, if one of its instruction set has them."""
    also: tuple[str, ...] = ()
    """Other modes in which its kernel is measured; they decide nothing."""
    shown_at: int | None = None
    """Bytes of a message whose figures are told if the caller names none; None: the longest."""
    loses: float = inf
    """The most times that its kernel may take, of the least there, at any one length of a class: a
    bound that gives way where no kernel keeps it.
    """
    beside: str = ""
    """Another use that is told too, if its kernel has the functions that it prefers."""


@dataclass(frozen=True)
class Question:
    """The choice among the kernels of a family."""

    family: str
    given: str
    """The axis whose value the caller's needs fix, such as the operation or the key size."""
    values: tuple[Any, ...]
    """Its values."""
    asked: tuple[Any, ...]
    """The values meant if nobody names one."""
    uses: tuple[Use, ...]
    """The first is the default."""
    dispatched: tuple[Use, ...]
    """The uses that the family's dispatcher knows."""
    by_length: tuple[Use, ...]
    """Those for messages of one length, ascending by `up_to`."""
    least: str
    """In words: the CPU features that every kernel needs."""
    instead: str
    """What to use on a CPU without them."""
    longest: int
    """Longest message in bytes that the standard allows."""
    limit: str
    """The reason for this limit, in words."""
    ways: Mapping[str, str]
    """What each of its modes measures, in words."""
    convention: str = "the fewest products"
    """What decides after the widest registers if nothing was measured, in words."""
    grows: bool = True
    """Whether a table grows with the group, so that a message alone takes a small group."""
    measured_as: Callable[[str, Mapping[str, Any]], str] = lambda name, axes: name
    """(name, axes of a kernel) → the kernel whose figures count for it."""
    differs: str = ""
    """How a kernel differs from the one whose figures count for it."""

    def use(self, name: str) -> Use:
        """Return a use by its name."""
        return next(use for use in self.uses if use.name == name)

    def use_at(self, size: int, mode: str = "") -> Use:
        """Return the use that a message of `size` bytes has, if the caller names none.

        A mode that one use alone rests on has that use: packets, pieces, parts.
        """
        resting = [use for use in self.dispatched if mode in {*use.also, *sum(use.modes, ())}]
        fitting = (use for use in self.by_length if use.up_to is None or size <= use.up_to)
        return resting[0] if len(resting) == 1 else next(fitting)

    @property
    def folder(self) -> str:
        """The folder of the deciding records, below the project's root."""
        return folder_of(self.family)
