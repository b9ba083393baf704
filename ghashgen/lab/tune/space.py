"""The kernels to compare: a choice from the catalogue, or a wider space around it.

Both derive only from a family's kernels and catalogue, so a new axis is searched automatically.
`goals` says what is fixed and what is searched completely.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

from ghashgen.arch.objects import read_object
from ghashgen.choice.chosen import axes_of
from ghashgen.choice.families.registry import questions
from ghashgen.choice.rule import Simplicity
from ghashgen.kernels.core import Point, Value
from ghashgen.kernels.families import families
from ghashgen.kernels.selection import Choice, look_up
from ghashgen.lab.tune.goals import Goal
from ghashgen.output.artefact import sha256
from ghashgen.run.built import Built
from ghashgen.support.errors import GhashgenError

SPACES = ("catalogue", "wide")


@dataclass(frozen=True)
class Unit:
    """A kernel as a measuring machine needs it: its object, and how to call it."""

    kernel: Point
    needs: tuple[str, ...]
    """CPU features."""
    table_align: int
    """Alignment in bytes that callers promise for the table."""
    obj: bytes
    code: str
    """SHA-256 of the code bytes before relocation, as in MANIFEST.json."""

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self.kernel.name

    @property
    def isa(self) -> str:
        """The kernel's instruction set."""
        return self.kernel.instruction_set.name

    @property
    def given(self) -> Value:
        """The given that is no choice: the operation, or the key size."""
        value: Value = getattr(self.kernel, questions()[self.kernel.family].given)
        return value


@dataclass(frozen=True)
class Candidate:
    """A kernel to compare."""

    unit: Unit
    code_bytes: int

    @property
    def kernel(self) -> Point:
        """The kernel."""
        return self.unit.kernel

    @property
    def simplicity(self) -> Simplicity:
        """Less is simpler: code bytes, table bytes, axes away from default, name."""
        return (
            self.code_bytes,
            self.kernel.layout.size,
            len(axes_of(self.kernel)),
            self.kernel.name,
        )


def space(choice: Choice, kind: str, goal: Goal) -> tuple[Point, ...]:
    """Return a goal's kernels that a choice allows in a space, in a stable order.

    "wide" adds every kernel that differs from one of the catalogue on one axis, by a value that the
    catalogue has anywhere, or by any value of an axis that is searched completely.

    Raises:
        GhashgenError: no kernel is left.
    """
    if kind not in SPACES:
        raise GhashgenError(f"no space is called {kind!r}", f"choose {', '.join(SPACES)}")
    family = families()[goal.family]
    fixed = {axis: (value,) for axis, value in goal.fixed.items() if axis not in choice.axes}
    wanted = choice.with_axes(**fixed)
    if choice.name:
        return _chosen(choice, goal)
    found = {kernel: None for kernel in _chosen(wanted, goal) if not _alias(kernel)}
    if kind == "wide":
        allowed = wanted.axes
        found |= {
            kernel: None
            for kernel in neighbours(family.catalogue(), goal)
            if all(getattr(kernel, axis) in values for axis, values in allowed.items())
        }
    if not found:
        raise GhashgenError("no kernel is left to compare", "give fewer filters")
    return tuple(found)


def _chosen(choice: Choice, goal: Goal) -> tuple[Point, ...]:
    return look_up(choice.of(goal.family)).kernels


def neighbours(kernels: tuple[Point, ...], goal: Goal) -> Iterator[Point]:
    """Yield the valid kernels that differ from one of these on one axis."""
    named = [kernel for kernel in kernels if not _alias(kernel)]
    kind: Any = families()[goal.family].make
    kept = {"isa", "alias", goal.question.given, *goal.fixed}
    values: dict[str, tuple[Any, ...]] = {
        field.name: tuple(dict.fromkeys(getattr(kernel, field.name) for kernel in named))
        for field in fields(kind)
        if field.name not in kept
    }
    values |= goal.whole
    seen = set(named)
    for kernel in named:
        for axis, others in values.items():
            for value in others:
                try:
                    other = _with(kernel, axis, value)
                except GhashgenError:
                    continue
                if other not in seen:
                    seen.add(other)
                    yield other


def _alias(kernel: Point) -> str:
    """Return a paper's name for a kernel, if its family has such names."""
    return str(getattr(kernel, "alias", ""))


def _with(kernel: Point, axis: str, value: Value) -> Point:
    point: Any = kernel
    other: Point = replace(point, **{axis: value})
    return other


def candidate(built: Built[Point]) -> Candidate:
    """Return an assembled kernel as a candidate."""
    obj = built.obj.read_bytes()
    code = sha256(read_object(obj).code)
    unit = Unit(built.kernel, built.features, built.table_align, obj, code)
    return Candidate(unit, sum(built.audit.code_bytes.values()))


def distinct(candidates: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
    """Return one candidate for each code: the simplest of those with the same bytes."""
    found: dict[str, Candidate] = {}
    for item in sorted(candidates, key=lambda c: c.simplicity):
        found.setdefault(item.unit.code, item)
    kept = {item.kernel for item in found.values()}
    return tuple(item for item in candidates if item.kernel in kept)
