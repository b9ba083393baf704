"""A chosen set, as a file: for each instruction set and class of message lengths, a kernel.

The file is JSON, small enough to review, and self-contained. `ghashgen tune` writes it;
`ghashgen generate --chosen` reads it. Every set says whether it was measured or modelled, and on
what.
"""

import json
from dataclasses import MISSING, dataclass, fields
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct

from ghashgen.choice.families.registry import questions
from ghashgen.kernels.core import Point
from ghashgen.kernels.families import DEFAULT, families
from ghashgen.support.documents import Document, converted
from ghashgen.support.errors import GhashgenError

SCHEMA = 1
MEASURED, MODEL = "measured", "model"
BASES = (MEASURED, MODEL)
"""The basis of a choice. Measured and modelled figures are never compared with each other."""


Length = Annotated[int, Meta(ge=0)]
"""Length of a message in bytes."""


@dataclass(frozen=True)
class Pick:
    """The kernel for one class of lengths."""

    up_to: int | None
    """The class's largest message length in bytes; None for the last class."""
    kernel: Point
    code_sha256: str
    """SHA-256 of the measured or modelled code, as in MANIFEST.json."""
    fill_at: int = 0
    """Bytes of messages of this class after which filling the kernel's table pays."""


@dataclass(frozen=True)
class Set:
    """The kernels of one instruction set, class by class in ascending order of length."""

    isa: str
    basis: str
    on: str
    """The CPU that was measured, or the modelled microarchitecture."""
    picks: tuple[Pick, ...]
    use: str = "lasting"
    """The use, one of the family's in `choice.families`."""

    @property
    def family(self) -> str:
        """The family of its kernels."""
        return self.picks[0].kernel.family


@dataclass(frozen=True)
class Chosen:
    """A whole file: sets in order of preference."""

    sets: tuple[Set, ...]

    @property
    def kernels(self) -> tuple[Point, ...]:
        """Every kernel once, in the order of the file."""
        return tuple(dict.fromkeys(pick.kernel for item in self.sets for pick in item.picks))

    def knows(self, family: str, use: str) -> bool:
        """Return whether it decides a use of a family; without any set, it decides but names no
        kernel.
        """
        known = {(item.family, item.use) for item in self.sets}
        return not known or (family, use) in known


def axes_of(kernel: Point) -> dict[str, Any]:
    """Return the axes that make this kernel: those without a default, and those not at it."""
    kind: Any = kernel
    return {
        field.name: getattr(kernel, field.name)
        for field in fields(kind)
        if field.default is MISSING or getattr(kernel, field.name) != field.default
    }


def dump(chosen: Chosen) -> str:
    """Return the text of a chosen set."""
    sets = [
        {
            **_stated(item),
            "isa": item.isa,
            "basis": item.basis,
            "on": item.on,
            "classes": [
                {
                    "up_to": pick.up_to,
                    "kernel": pick.kernel.name,
                    "axes": axes_of(pick.kernel),
                    "code_sha256": pick.code_sha256,
                    "fill_at": pick.fill_at,
                }
                for pick in item.picks
            ],
        }
        for item in chosen.sets
    ]
    return json.dumps({"schema": SCHEMA, "sets": sets}, indent=1, ensure_ascii=False) + "\n"


def _stated(item: Set) -> dict[str, str]:
    """Return family and use if they are not the defaults."""
    family = {"family": item.family} if item.family != DEFAULT else {}
    return family if item.use == default_use(item.family) else {**family, "use": item.use}


def default_use(family: str) -> str:
    """Return the use of a set that names none: the first use of the family's dispatcher."""
    return questions()[family].dispatched[0].name


class _Class(Struct, frozen=True, forbid_unknown_fields=True):
    """A pick, as in the file."""

    up_to: Length | None
    kernel: str
    axes: dict[str, Any]
    code_sha256: str
    fill_at: Length


class _Set(Struct, frozen=True, forbid_unknown_fields=True):
    isa: str
    basis: str
    on: str
    classes: tuple[_Class, ...]
    family: str = DEFAULT
    use: str = ""


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    schema: int
    sets: tuple[_Set, ...]


_FILE = Document(_File, "is no chosen set", "write one: ghashgen tune --write FILE", SCHEMA)


def load(path: Path) -> Chosen:
    """Read a chosen set.

    Raises:
        GhashgenError: the file is not a chosen set, a kernel's axes are invalid or belong to
        another
            name, or the classes of a set are not ascending with an open end.
    """
    body = _FILE.read(path)
    try:
        return Chosen(tuple(_set(item, f"sets[{i}]") for i, item in enumerate(body.sets)))
    except GhashgenError as refusal:
        raise GhashgenError(f"{path}: {refusal.cause}", refusal.remedy) from None
    except ValueError as error:
        raise _FILE.refuse(path, str(error)) from None


def _set(item: _Set, where: str) -> Set:
    if item.family not in questions():
        raise ValueError(f"{where}.family: {item.family!r} is not one of {', '.join(questions())}")
    use, uses = item.use or default_use(item.family), questions()[item.family].dispatched
    if use not in (known := [each.name for each in uses]):
        raise ValueError(f"{where}.use: {use!r} is not one of {', '.join(known)}")
    kind = families()[item.family].make
    picks = tuple(_pick(row, kind, f"{where}.classes[{i}]") for i, row in enumerate(item.classes))
    if item.basis not in BASES:
        raise ValueError(f"{where}.basis: {item.basis!r} is not one of {', '.join(BASES)}")
    ends = [pick.up_to for pick in picks]
    limits = [end for end in ends if end is not None]
    rising = all(a < b for a, b in pairwise(limits))
    if not ends or ends[-1] is not None or len(limits) != len(ends) - 1 or not rising:
        raise ValueError(f"{where}: the classes of {item.isa} do not rise to an open end")
    for pick in picks:
        isa = pick.kernel.instruction_set.name
        if isa != item.isa:
            raise ValueError(f"{where}: {pick.kernel.name} is of isa {isa}, not {item.isa}")
    return Set(item.isa, item.basis, item.on, picks, use)


def _pick(row: _Class, kind: Any, where: str) -> Pick:
    known = [field.name for field in fields(kind)]
    if unknown := sorted(row.axes.keys() - set(known)):
        raise ValueError(f"{where}.axes: unknown key {unknown[0]!r}; axes are {', '.join(known)}")
    kernel: Point = converted(row.axes, kind, f"{where}.axes")
    if kernel.name != row.kernel:
        raise ValueError(f"{where}: the axes of {row.kernel} make {kernel.name}")
    return Pick(row.up_to, kernel, row.code_sha256, row.fill_at)
