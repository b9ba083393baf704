"""A measurement, from the store of `ghashgen bench`, its JSON, or a record of docs/bench."""

from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from ghashgen.lab.bench.store import load
from ghashgen.lab.report.data import Speed, Timing, Way
from ghashgen.lab.report.topics import Topic
from ghashgen.lab.standing import Standing, figure
from ghashgen.records.core import Cell, Machine, Results, Run, Subject
from ghashgen.records.records import Record, load_record
from ghashgen.support.documents import Document
from ghashgen.support.errors import GhashgenError

HERE = "measured"
"""The slug of a measurement that is not a record."""

_SQLITE = b"SQLite format 3\0"


@dataclass(frozen=True)
class Source:
    """A measurement, and the file that it was read from, by its name on the page."""

    record: Record
    shown: str


def read(path: Path, shown: str, session: int | None = None) -> Source:
    """Return the measurement in a file.

    `shown` is the file's name on the page; `session` selects one of a store, by default the last.

    Raises:
        GhashgenError: the file is unreadable, is none of the three kinds, or has no such session.
    """
    try:
        with path.open("rb") as file:
            stored = file.read(len(_SQLITE)) == _SQLITE
        if stored:
            which = "" if session is None else f", number {session}"
            results = load(path, session)
            runs = max((len(cell.runs) for cell in results.cells), default=0)
            return Source(Record(HERE, runs, "", results), f"{shown}{which}")
        if session is not None:
            raise GhashgenError(
                f"{path} is no store of ghashgen bench, so it has no --session", "leave it out"
            )
    except OSError as error:
        raise GhashgenError(f"{path}: {error.strerror}", "run ghashgen bench") from None
    if _ANY.read(path).cells is UNSET:
        return Source(load_record(path), shown)
    return Source(_printed(_PRINTED.read(path)), shown)


class _Any(Struct, frozen=True):
    cells: list[Any] | UnsetType = UNSET
    """In the output of `ghashgen bench --json`; a record has none."""


class _Cell(Struct, frozen=True):
    """The part of a row of `lab.bench.export` that the report shows."""

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
    key: int = 0


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


def _printed(body: _Printed) -> Record:
    """Return printed JSON as a record."""
    subjects = {
        row.name: Subject(row.name, row.kind, 0, row.digest, tuple(row.needs.split()), row.key)
        for row in body.cells
    }
    cells = tuple(
        Cell(row.name, row.size, row.mode, (Run(row.cycles, row.low, row.high, row.kept, 0),))
        for row in body.cells
    )
    runs = max((row.runs for row in body.cells), default=0)
    return Record(HERE, runs, "", Results(body.machine, subjects, cells, body.missing))


def speeds(source: Source, one: Standing, topic: Topic) -> tuple[Speed, ...]:
    """Return a measurement for a page, by key size; none for a key size without such a cell."""
    record, results, machine = one.record, one.record.results, one.record.results.machine
    timings: dict[int, list[Timing]] = {}
    for cell in results.cells:
        if cell.mode == topic.mode and cell.size:
            subject = results.subjects[cell.name]
            timings.setdefault(subject.key, []).append(_timing(cell, subject))
    method = _method(record.runs, machine.git, topic)
    return tuple(
        Speed(
            slug=f"{record.slug}-{key}" if key else record.slug,
            title=f"{record.title}, AES-{key}" if key else record.title,
            source=source.shown,
            machine=_machine(machine.cpu, machine.clock_ghz),
            method=f"{method}; {record.note}" if record.note else method,
            timings=tuple(sorted(own, key=lambda t: (t.kind, t.name, t.size))),
            missing=dict(sorted(results.missing.items())),
            takes={size: one.takes(size, topic.mode, key) for size in {t.size for t in own}},
            key=key,
            others=_others(one, topic, key),
        )
        for key, own in sorted(timings.items())
    )


def _timing(cell: Cell, subject: Subject) -> Timing:
    low, high = cell.spread
    return Timing(
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


def _others(one: Standing, topic: Topic, key: int) -> tuple[Way, ...]:
    """Return the other ways of a topic that were measured with this key size."""
    ways = []
    for mode, title in topic.others:
        sizes = [size for found, size in one.record.results.rows() if found == mode]
        pairs = [found for size in sizes if (found := one.pair(size, mode, key))]
        rows = tuple(
            (p.kernel.size, p.kernel.name, figure(p.kernel), p.peer.name, f"{p.ratio:.2f}")
            for p in pairs
        )
        if rows:
            ways.append(Way(title, rows))
    return tuple(ways)


def _machine(cpu: str, clock_ghz: float) -> str:
    return f"{cpu}, {clock_ghz:.2f} GHz" if clock_ghz else cpu


def _method(runs: int, git: str, topic: Topic) -> str:
    times = "one run" if runs == 1 else f"{runs} runs"
    sources = f"; sources {git}" if git else ""
    return (
        f"{topic.mode}, kernels and peers in turns in one process on one core; median of {times}' "
        f"medians, spread from the lowest first to the highest third quartile{sources}"
    )
