"""Stored measurements: docs/bench/CPU.json, one file for each CPU.

A run never overwrites another CPU's record. Every subject has a line. A cell is [median, first
quartile, third quartile] in core cycles per call, or null if not measured. A quartile is null if
only the median is known.
"""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from msgspec import Struct, defstruct

from ghashgen.kernels.families import DEFAULT
from ghashgen.records.core import (
    FIXED_SIZES,
    MODES,
    Cell,
    Machine,
    Results,
    Run,
    Subject,
    size_name,
)
from ghashgen.records.cpus import core_of, title_of
from ghashgen.support.documents import Document, converted
from ghashgen.support.errors import GhashgenError
from ghashgen.support.files import write_whole

FOLDER = "docs/bench"
"""The records of the default family, below the project's root."""


def folder_of(family: str) -> str:
    """Return the folder of a family's records, below the project's root."""
    return FOLDER if family == DEFAULT else f"{FOLDER}/{family}"


SCHEMA = 1
METHOD = (
    "core cycles, the median of the runs' medians; quartiles from the lowest first to the highest "
    "third; kernels and peers in turns in one process on one core"
)


@dataclass(frozen=True)
class Record:
    """A CPU's record."""

    slug: str
    """The file's name; see `cpus.slug_of`."""
    runs: int
    note: str
    """A note for readers; mostly empty."""
    results: Results
    """Each cell has one run, which summarizes all."""

    @property
    def core(self) -> str:
        """The core's name where it is known, else the CPU's own words."""
        return title_of(self.results.machine.cpu)

    @property
    def title(self) -> str:
        """The same with what the machine lacked of it: Zen 4 without AVX-512."""
        machine = self.results.machine
        return title_of(machine.cpu, machine.features)


def record_text(results: Results, note: str = "") -> str:
    """Return the text of a record.

    Raises:
        GhashgenError: no kernel was measured.
    """
    if not any(results.subjects[cell.name].kind == "kernel" for cell in results.cells):
        raise GhashgenError("no kernel was measured, so there is nothing to record", "measure one")
    sizes = sorted({cell.size for cell in results.cells if cell.mode not in FIXED_SIZES})
    machine = results.machine
    core = core_of(machine.cpu)
    head = {
        "schema": SCHEMA,
        "cpu": machine.cpu,
        "core": core.title if core else "",
        "clock_ghz": round(machine.clock_ghz, 2),
        "features": list(machine.features),
        "sources": machine.git,
        "method": METHOD,
        "runs": max(len(cell.runs) for cell in results.cells),
        "note": note,
        "missing": dict(sorted(results.missing.items())),
        "sizes": sizes,
    }
    cells = {(cell.name, cell.mode, cell.size): cell for cell in results.cells}
    modes = list(dict.fromkeys(mode for mode, _ in results.rows()))
    lines = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    subjects = []
    for name, subject in results.subjects.items():
        row: dict[str, Any] = {
            "kind": subject.kind,
            "table_bytes": subject.table_bytes,
            "digest": subject.digest,
            "needs": list(subject.needs),
        }
        if subject.key:
            row["key"] = subject.key
        for mode in modes:
            if mode in FIXED_SIZES:
                row[mode] = _plain(cells.get((name, mode, FIXED_SIZES[mode])))
            else:
                row[mode] = [_plain(cells.get((name, mode, size))) for size in sizes]
        if any(row[mode] and any(row[mode]) for mode in modes):
            subjects.append(f"  {json.dumps(name)}: {json.dumps(row)}")
    lines.append(' "subjects": {\n' + ",\n".join(subjects) + "\n }")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _plain(cell: Cell | None) -> list[float | None] | None:
    if cell is None:
        return None
    return [_rounded(cell.cycles), *map(_rounded, cell.spread)]


def _rounded(value: float) -> float | None:
    """Return four significant digits, more than the clock justifies."""
    return None if math.isnan(value) else float(f"{value:.4g}")


_Quartiles = tuple[float, float | None, float | None] | None
"""Median, first and third quartile, or null."""


class _Subject(Struct, frozen=True):
    """A subject's line without its figures."""

    kind: str
    table_bytes: int
    digest: str
    needs: tuple[str, ...]
    key: int = 0


def _field(mode: str) -> str:
    return mode.replace("-", "_")


_ROW = cast(
    type[_Subject],
    defstruct(
        "_ROW",
        [
            (
                _field(mode),
                _Quartiles if mode in FIXED_SIZES else tuple[_Quartiles, ...] | None,
                None,
            )
            for mode in MODES
        ],
        bases=(_Subject,),
        rename={_field(mode): mode for mode in MODES},
        frozen=True,
    ),
)
"""The whole line: for each mode a cell for every size, or one cell if the size is fixed. Older
records lack newer modes.
"""


class _File(Struct, frozen=True):
    cpu: str
    features: tuple[str, ...]
    clock_ghz: float
    sources: str
    runs: int
    note: str
    missing: dict[str, str]
    sizes: tuple[int, ...]
    subjects: dict[str, dict[str, Any]]


_FILE = Document(
    _File,
    "is no record of a measurement",
    "measure again with ghashgen bench --record, or delete it",
    SCHEMA,
)


def load_record(path: Path) -> Record:
    """Read a record.

    Raises:
        GhashgenError: it is malformed.
    """
    return _record(path, _FILE.content_of(path))


@lru_cache(maxsize=64)
def _record(path: Path, data: bytes) -> Record:
    body = _FILE.parse(data, str(path))
    try:
        rows = {n: converted(row, _ROW, f"subjects.{n}") for n, row in body.subjects.items()}
        cells = tuple(c for name, row in rows.items() for c in _cells(name, row, body.sizes))
    except ValueError as error:
        raise _FILE.refuse(path, str(error)) from None
    subjects = {
        name: Subject(name, row.kind, row.table_bytes, row.digest, row.needs, row.key)
        for name, row in rows.items()
    }
    machine = Machine(body.cpu, body.features, body.clock_ghz, body.sources)
    results = Results(machine, subjects, cells, body.missing)
    return Record(path.stem, body.runs, body.note, results)


def _cells(name: str, row: _Subject, every: Sequence[int]) -> Iterator[Cell]:
    for mode in MODES:
        values = getattr(row, _field(mode))
        if values is None:
            continue
        sizes = (FIXED_SIZES[mode],) if mode in FIXED_SIZES else every
        found = (values,) if mode in FIXED_SIZES else values
        if len(found) != len(sizes):
            raise ValueError(f"subjects.{name}.{mode}: {len(found)} cells, {len(sizes)} sizes")
        for size, cell in zip(sizes, found, strict=True):
            if cell is not None:
                known = [math.nan if x is None else x for x in cell] if None in cell else cell
                middle, low, high = known
                yield Cell(name, size, mode, (Run(middle, low, high, 0, 0),))


def load_records(folder: Path) -> tuple[Record, ...]:
    """Return every record of a folder by CPU name; none without a folder.

    Raises:
        GhashgenError: one is malformed.
    """
    return tuple(load_record(path) for path in sorted(folder.glob("*.json")))


def write_record(results: Results, slug: str, folder: Path, note: str = "") -> Path:
    """Write this CPU's record and return its path.

    Raises:
        GhashgenError: nothing was measured, the existing record has figures that this run lacks, or
            the record cannot be written.
    """
    path, text = folder / f"{slug}.json", record_text(results, note)
    cells = {(cell.name, cell.mode, cell.size) for cell in results.cells}
    require_kept(path, lambda cell, _: (cell.name, cell.mode, cell.size) in cells)
    write_whole(path, text)
    return path


def require_kept(path: Path, has: Callable[[Cell, Subject], bool]) -> None:
    """Refuse to replace a record by a run that lacks some of its figures.

    Raises:
        GhashgenError: it lacks some, or the record is malformed.
    """
    before = load_record(path).results if path.exists() else None
    lost = [c for c in before.cells if not has(c, before.subjects[c.name])] if before else []
    if lost:
        first = f"{lost[0].name} {lost[0].mode} {size_name(lost[0].size, lost[0].mode)}"
        raise GhashgenError(
            f"{path} holds {len(lost)} figures that this run lacks, such as {first}",
            "measure everything, or delete the file first",
        )
