"""The kernels to compare: a choice of the catalogue, or a wider space around it.

Both derive from `Kernel` and the catalogue alone, so an axis that is added to them is searched.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

from ghashgen.algebra.schemes.aggregate import MAX_BLOCKS
from ghashgen.arch.objects import read_object
from ghashgen.choice.chosen import axes_of
from ghashgen.kernels.hash.catalogue import catalogue
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.selection import Choice, choose_of
from ghashgen.output.artefact import sha256
from ghashgen.run.built import Built
from ghashgen.support.errors import GhashgenError

SPACES = ("catalogue", "wide")

FIXED = {"op": "ghash", "wipe": False}
"""What changes the function or its promises is not chosen by speed: one value, unless asked for."""

_SEARCHED_WHOLE = {"blocks": tuple(range(1, MAX_BLOCKS + 1))}


@dataclass(frozen=True)
class Unit:
    """A kernel as a machine that measures must know it: its object, and how to call it."""

    kernel: Kernel
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
        return self.kernel.isa


@dataclass(frozen=True)
class Candidate:
    """A kernel to compare."""

    unit: Unit
    code_bytes: int

    @property
    def kernel(self) -> Kernel:
        """The kernel."""
        return self.unit.kernel

    @property
    def simplicity(self) -> tuple[int, int, int, str]:
        """Less is simpler: bytes of the table, bytes of code, axes away from default, name."""
        return (
            self.kernel.table_bytes,
            self.code_bytes,
            len(axes_of(self.kernel)),
            self.kernel.name,
        )


def space(choice: Choice, kind: str) -> tuple[Kernel, ...]:
    """Return the kernels of a space that a choice allows, in a stable order.

    "wide" adds to the catalogue every kernel that differs from one of it in one axis, by a value
    that the catalogue has anywhere, and every number of blocks.

    Raises:
        GhashgenError: no kernel is left.
    """
    if kind not in SPACES:
        raise GhashgenError(f"no space is called {kind!r}", f"choose {', '.join(SPACES)}")
    fixed = {axis: (value,) for axis, value in FIXED.items() if axis not in choice.axes}
    wanted = choice.with_axes(**fixed)
    if choice.name:
        return choose_of(Kernel, choice)
    found = {kernel: None for kernel in choose_of(Kernel, wanted) if not kernel.alias}
    if kind == "wide":
        allowed = wanted.axes
        found |= {
            kernel: None
            for kernel in neighbours(catalogue())
            if all(getattr(kernel, axis) in values for axis, values in allowed.items())
        }
    if not found:
        raise GhashgenError("no kernel is left to compare", "choose fewer axes")
    return tuple(found)


def neighbours(kernels: tuple[Kernel, ...]) -> Iterator[Kernel]:
    """Yield the kernels that make sense and differ from one of these in one axis."""
    named = [kernel for kernel in kernels if not kernel.alias]
    values: dict[str, tuple[Any, ...]] = {
        field.name: tuple(dict.fromkeys(getattr(kernel, field.name) for kernel in named))
        for field in fields(Kernel)
        if field.name not in ("isa", "alias", *FIXED)
    }
    values |= _SEARCHED_WHOLE
    seen = set(named)
    for kernel in named:
        for axis, others in values.items():
            for value in others:
                try:
                    other = replace(kernel, **{axis: value})
                except GhashgenError:
                    continue
                if other not in seen:
                    seen.add(other)
                    yield other


def candidate(built: Built[Kernel]) -> Candidate:
    """Return a kernel that was assembled as a candidate."""
    obj = built.obj.read_bytes()
    code = sha256(read_object(obj).code)
    unit = Unit(built.kernel, built.features, built.table_align, obj, code)
    return Candidate(unit, sum(built.audit.code_bytes.values()))


def distinct(candidates: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
    """Return one candidate for each code: the simplest of those whose bytes are the same."""
    found: dict[str, Candidate] = {}
    for item in sorted(candidates, key=lambda c: c.simplicity):
        found.setdefault(item.unit.code, item)
    kept = {item.kernel for item in found.values()}
    return tuple(item for item in candidates if item.kernel in kept)
