"""A chosen set: for each instruction set the kernel of each class of message lengths, as a file.

The file is JSON, small enough to review, and depends on what it states alone. `ghashgen tune`
writes it; `ghashgen generate --chosen` reads it. Every set says whether it was measured or
modelled, and on what.
"""

import json
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from itertools import pairwise
from pathlib import Path
from typing import Any

from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.support.errors import GhashgenError

SCHEMA = 1
MEASURED, MODEL = "measured", "model"
BASES = (MEASURED, MODEL)
"""What a choice rests on; the two are never compared with each other."""


@dataclass(frozen=True)
class Pick:
    """The kernel of one class of lengths."""

    up_to: int | None
    """The class's largest message length in bytes; None for the last class."""
    kernel: Kernel
    code_sha256: str
    """SHA-256 of the code that was measured or modelled, as MANIFEST.json has it."""
    fill_at: int = 0
    """Bytes of messages of this class after which filling the kernel's table has paid off."""


@dataclass(frozen=True)
class Set:
    """The kernels of one instruction set, class by class in ascending order of length."""

    isa: str
    basis: str
    on: str
    """The CPU that was measured, or the microarchitecture of the model."""
    picks: tuple[Pick, ...]


@dataclass(frozen=True)
class Chosen:
    """A whole file: sets, the preferred first."""

    sets: tuple[Set, ...]

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """Every kernel once, in the order of the file."""
        return tuple(dict.fromkeys(pick.kernel for item in self.sets for pick in item.picks))


def axes_of(kernel: Kernel) -> dict[str, Any]:
    """Return the axes that make this kernel: those without a default, and those away from it."""
    return {
        field.name: getattr(kernel, field.name)
        for field in fields(kernel)
        if field.default is MISSING or getattr(kernel, field.name) != field.default
    }


def dump(chosen: Chosen) -> str:
    """Return the text of a chosen set."""
    sets = [
        {
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


def load(path: Path) -> Chosen:
    """Read a chosen set.

    Raises:
        GhashgenError: the file is no chosen set, a kernel's axes make no sense or belong to another
            name, or the classes of a set are not in ascending order with an open end.
    """
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
        if body["schema"] != SCHEMA:
            raise ValueError(f"schema {body['schema']}, this version reads {SCHEMA}")
        return Chosen(tuple(_set(item) for item in body["sets"]))
    except GhashgenError as refusal:
        raise GhashgenError(f"{path}: {refusal.cause}", refusal.remedy) from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise GhashgenError(
            f"{path} is no chosen set: {error}", "write one: ghashgen tune --write FILE"
        ) from None


def _set(item: Mapping[str, Any]) -> Set:
    isa, picks = str(item["isa"]), tuple(_pick(row) for row in item["classes"])
    if item["basis"] not in BASES:
        raise ValueError(f"basis {item['basis']!r} is none of {', '.join(BASES)}")
    ends = [pick.up_to for pick in picks]
    limits = [end for end in ends if end is not None]
    rising = all(a < b for a, b in pairwise(limits))
    if not ends or ends[-1] is not None or len(limits) != len(ends) - 1 or not rising:
        raise ValueError(f"the classes of {isa} do not rise to an open end")
    for pick in picks:
        if pick.kernel.isa != isa:
            raise ValueError(f"{pick.kernel.name} is of isa {pick.kernel.isa}, not {isa}")
    return Set(isa, item["basis"], str(item["on"]), picks)


def _pick(row: Mapping[str, Any]) -> Pick:
    kernel = Kernel(**row["axes"])
    if kernel.name != row["kernel"]:
        raise ValueError(f"the axes of {row['kernel']} make {kernel.name}")
    up_to, fill_at = row["up_to"], row["fill_at"]
    if type(fill_at) is not int or fill_at < 0 or not (up_to is None or type(up_to) is int):
        raise ValueError(f"up_to and fill_at of {kernel.name} must be lengths in bytes")
    if up_to is not None and up_to < 0:
        raise ValueError(f"up_to of {kernel.name} must be a length in bytes")
    return Pick(up_to, kernel, str(row["code_sha256"]), fill_at)
