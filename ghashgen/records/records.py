"""Measurements that are kept: docs/bench/CPU.json, one file for each CPU measured.

A run on one CPU never overwrites another's record. Every subject has a line; a cell is [median,
first quartile, third quartile] in core cycles per call, or null where it was not measured. A
quartile is null where only the median is known.
"""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ghashgen.records.core import INIT_MODES, MODES, Cell, Machine, Results, Run, Subject, size_name
from ghashgen.records.cpus import core_of, title_of
from ghashgen.support.errors import GhashgenError
from ghashgen.support.files import write_whole

FOLDER = "docs/bench"
"""Where the records lie, below the project's root."""

SCHEMA = 1
METHOD = (
    "core cycles; kernels and peers in turns in one process on one core, median over runs of each "
    "run's median, quartiles from the lowest first to the highest third"
)


@dataclass(frozen=True)
class Record:
    """A CPU's record."""

    slug: str
    """The file's name: vendor, family, model and stepping of the CPU."""
    runs: int
    note: str
    """What a reader must know of this record; mostly empty."""
    results: Results
    """Each cell has one run, which sums up all."""

    @property
    def title(self) -> str:
        """The core's name where it is known, else the CPU's own words."""
        return title_of(self.results.machine.cpu)


def record_text(results: Results, note: str = "") -> str:
    """Return the text of a record.

    Raises:
        GhashgenError: no kernel was measured.
    """
    if not any(results.subjects[cell.name].kind == "kernel" for cell in results.cells):
        raise GhashgenError("no kernel was measured, so there is nothing to record", "choose one")
    sizes = sorted({cell.size for cell in results.cells if cell.size})
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
        for mode in modes:
            if mode in INIT_MODES:
                row[mode] = _plain(cells.get((name, mode, 0)))
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
    """Return four significant digits, more than the clock is worth."""
    return None if math.isnan(value) else float(f"{value:.4g}")


def load_record(path: Path) -> Record:
    """Read a record.

    Raises:
        GhashgenError: it is malformed.
    """
    try:
        body: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if body["schema"] != SCHEMA:
            raise ValueError(f"schema {body['schema']}, this version reads {SCHEMA}")
        subjects = {
            name: Subject(
                name,
                str(row["kind"]),
                int(row["table_bytes"]),
                str(row["digest"]),
                tuple(map(str, row["needs"])),
            )
            for name, row in body["subjects"].items()
        }
        cells = tuple(
            cell for name, row in body["subjects"].items() for cell in _cells(name, row, body)
        )
        machine = Machine(
            str(body["cpu"]),
            tuple(map(str, body["features"])),
            float(body["clock_ghz"]),
            str(body["sources"]),
        )
        results = Results(machine, subjects, cells, dict(body["missing"]))
        return Record(path.stem, int(body["runs"]), str(body["note"]), results)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise GhashgenError(
            f"{path} is no record of a measurement: {type(error).__name__} {error}",
            "measure again with ghashgen bench --record, or delete it",
        ) from None


def _cells(name: str, row: Mapping[str, Any], body: Mapping[str, Any]) -> Iterator[Cell]:
    for mode, values in row.items():
        if mode not in MODES or values is None:
            continue
        pairs = [(0, values)] if mode in INIT_MODES else zip(body["sizes"], values, strict=True)
        for size, value in pairs:
            if value is not None:
                middle, low, high = (math.nan if part is None else float(part) for part in value)
                yield Cell(name, int(size), mode, (Run(middle, low, high, 0, 0),))


def load_records(folder: Path) -> tuple[Record, ...]:
    """Return every record of a folder by the CPU's name; none where there is no folder.

    Raises:
        GhashgenError: one is malformed.
    """
    return tuple(load_record(path) for path in sorted(folder.glob("*.json")))


def write_record(results: Results, slug: str, folder: Path, note: str = "") -> Path:
    """Write this CPU's record and return its path.

    Raises:
        GhashgenError: nothing was measured; or the record there holds what this run did not
            measure, which a partial run must not throw away; or it cannot be written.
    """
    path, text = folder / f"{slug}.json", record_text(results, note)
    if path.exists():
        lost = _lost(load_record(path).results, results)
        if lost:
            raise GhashgenError(
                f"{path} holds {len(lost)} figures that this run lacks, such as {lost[0]}",
                "measure all of it, or delete the file first",
            )
    write_whole(path, text)
    return path


def _lost(before: Results, now: Results) -> list[str]:
    """Return the cells of kernels that the first has and the second lacks, in words."""
    cells = {(cell.name, cell.mode, cell.size) for cell in now.cells}
    return [
        f"{cell.name} {cell.mode} {size_name(cell.size)}"
        for cell in before.cells
        if (cell.name, cell.mode, cell.size) not in cells
    ]
