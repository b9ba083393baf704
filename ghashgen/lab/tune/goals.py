"""What a sweep decides for each family: which uses, by which figures, among which kernels.

Speed does not choose what a kernel computes or promises, and message lengths are not chosen at all.
So the axes for the former are fixed unless the caller asks for another value, each use has classes
of lengths, and each value of the given axis has its own choice.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.choice.classes import SizeClass
from ghashgen.choice.families.registry import questions
from ghashgen.choice.questions import Question, Use
from ghashgen.kernels.core import Point, Value
from ghashgen.kernels.families import brought, functions_of
from ghashgen.lab.bench.contest import Contest
from ghashgen.records.core import FIXED_SIZES, QUICK_SIZES
from ghashgen.support.errors import GhashgenError
from ghashgen.support.wording import choose_one

Cell = tuple[str, int]
"""A mode and a size in bytes, for which a kernel has one figure."""


@dataclass(frozen=True)
class Goal:
    """What is decided for a family."""

    contest: Contest
    uses: tuple[Use, ...]
    """The first group of modes of each use decides."""
    fixed: Mapping[str, Value]
    """Axes with one value, unless the caller asks for others."""
    whole: Mapping[str, tuple[Value, ...]]
    """Axes of which the wide space has every value."""

    @property
    def family(self) -> str:
        """The family."""
        return self.contest.family

    @property
    def question(self) -> Question:
        """The family's question."""
        return questions()[self.family]

    def only(self, names: Iterable[str]) -> tuple[Use, ...]:
        """Return the uses with these names; all of them without a name.

        Raises:
            GhashgenError: a name is not a use that is decided here.
        """
        known = {use.name: use for use in self.uses}
        for name in names:
            if name not in known:
                cause = f"tune chooses no kernel of family {self.family} for the use {name!r}"
                raise GhashgenError(cause, choose_one(name, known))
        return tuple(known[name] for name in dict.fromkeys(names)) or self.uses


def cells_of(uses: Iterable[Use]) -> tuple[Cell, ...]:
    """Return what must be measured to decide these uses, each cell once."""
    return tuple(
        dict.fromkeys(
            (mode, size)
            for use in uses
            for item in use.classes
            for mode in use.modes[0]
            for size in item.sizes
        )
    )


def modes_of(uses: Iterable[Use]) -> tuple[str, ...]:
    """Return the modes to measure, including key set-up where its cost is weighed."""
    uses = tuple(uses)
    modes = dict.fromkeys(mode for mode, _ in cells_of(uses))
    return (*modes, *(("init",) if any(use.fills for use in uses) else ()))


def sizes_to_measure(uses: Iterable[Use]) -> tuple[int, ...]:
    """Return the sizes, at least one, for the modes that have a choice of sizes."""
    found = {size: None for mode, size in cells_of(uses) if mode not in FIXED_SIZES}
    return tuple(found) or (BLOCK_BYTES,)


def quick(uses: Iterable[Use]) -> tuple[Use, ...]:
    """Return uses with only the sizes of `bench --quick`; a class without any keeps its own."""
    return tuple(replace(use, classes=tuple(map(_few, use.classes))) for use in uses)


def _few(item: SizeClass) -> SizeClass:
    few = tuple(size for size in item.sizes if size in QUICK_SIZES)
    return replace(item, sizes=few or item.sizes)


def served(kernel: Point, uses: Iterable[Use]) -> tuple[Use, ...]:
    """Return the uses whose functions a kernel has."""
    exported = functions_of(kernel).keys()
    return tuple(use for use in uses if use.exports <= exported)


def goals() -> Mapping[str, Goal]:
    """Return every goal by family, the default family first."""
    return brought("goal")
