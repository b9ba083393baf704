"""A measurement, from the store of `ghashgen bench`, its JSON, or a record of docs/bench."""

from collections.abc import Iterable
from dataclasses import replace
from math import isnan
from pathlib import Path
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from ghashgen.lab.bench.store import load
from ghashgen.lab.report.data import Speed, Timing
from ghashgen.records.core import Machine, Results
from ghashgen.records.cpus import title_of
from ghashgen.records.levels import level_of
from ghashgen.records.records import Record, load_record
from ghashgen.support.documents import Document
from ghashgen.support.errors import GhashgenError

HERE = "measured"
"""The slug of a measurement that is no record."""

MODE = "throughput"
_SQLITE = b"SQLite format 3\0"


def read_speed(path: Path, shown: str, session: int | None = None) -> Speed:
    """Return the measurement in a file; `shown` is how the page names the file.

    `session` chooses one of a store, the last by default.

    Raises:
        GhashgenError: the file is unreadable, is none of the three, or has no such session.
    """
    try:
        with path.open("rb") as file:
            stored = file.read(len(_SQLITE)) == _SQLITE
        if stored:
            which = "" if session is None else f", number {session}"
            return _of_results(load(path, session), f"{shown}{which}")
        if session is not None:
            raise GhashgenError(f"{path} is no store of sessions", "leave out --session")
    except OSError as error:
        raise GhashgenError(f"{path}: {error.strerror}", "run ghashgen bench") from None
    if _ANY.read(path).cells is UNSET:
        return _of_record(load_record(path), shown)
    return _of_json(_PRINTED.read(path), shown)


class _Any(Struct, frozen=True):
    cells: list[Any] | UnsetType = UNSET
    """What `ghashgen bench --json` prints has them, a record has none."""


class _Cell(Struct, frozen=True):
    """A row of `lab.bench.export`, as far as the report shows it."""

    name: str
    kind: str
    mode: str
    size: int
    cycles: float
    low: float
    high: float
    runs: int
    kept: int
    digest: str
    needs: str


class _Printed(Struct, frozen=True):
    machine: Machine
    missing: dict[str, str]
    cells: tuple[_Cell, ...]


_WRONG = (
    "is no measurement",
    "name a file of ghashgen bench --store or --json, or a record of docs/bench",
)
_ANY = Document(_Any, *_WRONG)
_PRINTED = Document(_Printed, *_WRONG)


def _ordered(timings: Iterable[Timing]) -> tuple[Timing, ...]:
    return tuple(sorted(timings, key=lambda t: (t.kind, t.name, t.size)))


def _of_results(results: Results, shown: str, slug: str = HERE) -> Speed:
    timings = []
    for cell in results.cells:
        if cell.mode != MODE or not cell.size:
            continue
        subject, (low, high) = results.subjects[cell.name], cell.spread
        timings.append(
            Timing(
                name=cell.name,
                kind=subject.kind,
                size=cell.size,
                per_byte=cell.per_byte,
                low=None if isnan(low) else low / cell.size,
                high=None if isnan(high) else high / cell.size,
                samples=sum(run.kept for run in cell.usable),
                digest=subject.digest,
                level=subject.level,
            )
        )
    runs = max((len(cell.runs) for cell in results.cells), default=0)
    return Speed(
        slug=slug,
        title=title_of(results.machine.cpu),
        source=shown,
        machine=_machine(results.machine.cpu, results.machine.clock_ghz),
        method=_method(runs, results.machine.git),
        timings=_ordered(timings),
        missing=dict(sorted(results.missing.items())),
    )


def _machine(cpu: str, clock_ghz: float) -> str:
    return f"{cpu}, {clock_ghz:.2f} GHz" if clock_ghz else cpu


def _method(runs: int, git: str) -> str:
    times = "one run" if runs == 1 else f"{runs} runs"
    sources = f"; sources {git}" if git else ""
    return (
        f"{MODE}, kernels and peers in turns in one process on one core; median of {times}' "
        f"medians, spread from the lowest first to the highest third quartile{sources}"
    )


def _of_json(body: _Printed, shown: str) -> Speed:
    machine = body.machine
    return Speed(
        slug=HERE,
        title=title_of(machine.cpu),
        source=shown,
        machine=_machine(machine.cpu, machine.clock_ghz),
        method=_method(max((row.runs for row in body.cells), default=0), machine.git),
        timings=_ordered(
            Timing(
                name=row.name,
                kind=row.kind,
                size=row.size,
                per_byte=row.cycles / row.size,
                low=row.low / row.size,
                high=row.high / row.size,
                samples=row.kept,
                digest=row.digest,
                level=level_of(row.needs.split()),
            )
            for row in body.cells
            if row.mode == MODE and row.size
        ),
        missing=dict(sorted(body.missing.items())),
    )


def _of_record(record: Record, shown: str) -> Speed:
    speed = _of_results(record.results, shown, record.slug)
    method = _method(record.runs, record.results.machine.git)
    return replace(speed, method=f"{method}; {record.note}" if record.note else method)
