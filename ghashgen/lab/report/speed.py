"""A measurement, from the store of `ghashgen bench`, its JSON, or a record of docs/bench."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import isnan
from pathlib import Path
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from ghashgen.lab.bench.store import load
from ghashgen.lab.report.data import Speed, Timing, Way
from ghashgen.lab.report.topics import HASH, Topic
from ghashgen.lab.standing import figure, pair
from ghashgen.records.core import Machine, Results
from ghashgen.records.cpus import title_of
from ghashgen.records.levels import level_of
from ghashgen.records.records import Record, load_record
from ghashgen.support.documents import Document
from ghashgen.support.errors import GhashgenError

HERE = "measured"
"""The slug of a measurement that is not a record."""

_SQLITE = b"SQLite format 3\0"


def read_speeds(
    path: Path, shown: str, session: int | None = None, topic: Topic = HASH
) -> tuple[Speed, ...]:
    """Return the measurements in a file for a page, one for each key size.

    `shown` is the file's name on the page; `session` selects one of a store, by default the last.

    Raises:
        GhashgenError: the file is unreadable, is none of the three kinds, or has no such session.
    """
    try:
        with path.open("rb") as file:
            stored = file.read(len(_SQLITE)) == _SQLITE
        if stored:
            which = "" if session is None else f", number {session}"
            return _of_results(load(path, session), f"{shown}{which}", topic)
        if session is not None:
            raise GhashgenError(f"{path} is not a store of sessions", "leave out --session")
    except OSError as error:
        raise GhashgenError(f"{path}: {error.strerror}", "run ghashgen bench") from None
    if _ANY.read(path).cells is UNSET:
        return _of_record(load_record(path), shown, topic)
    return _of_json(_PRINTED.read(path), shown, topic)


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


def _ordered(timings: Iterable[Timing]) -> tuple[Timing, ...]:
    return tuple(sorted(timings, key=lambda t: (t.kind, t.name, t.size)))


def _of_results(results: Results, shown: str, topic: Topic, slug: str = HERE) -> tuple[Speed, ...]:
    timings: dict[int, list[Timing]] = {}
    for cell in results.cells:
        if cell.mode != topic.mode or not cell.size:
            continue
        subject, (low, high) = results.subjects[cell.name], cell.spread
        timings.setdefault(subject.key, []).append(
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
    found = Speed(
        slug=slug,
        title=title_of(results.machine.cpu, results.machine.features),
        source=shown,
        machine=_machine(results.machine.cpu, results.machine.clock_ghz),
        method=_method(runs, results.machine.git, topic),
        timings=(),
        missing=dict(sorted(results.missing.items())),
    )
    return tuple(
        replace(speed, others=_others(results, topic, speed.key))
        for speed in _by_key(found, timings)
    )


def _others(results: Results, topic: Topic, key: int) -> tuple[Way, ...]:
    """Return the other ways of a topic that were measured with this key size."""
    ways = []
    for mode, title in topic.others:
        sizes = [size for found, size in results.rows() if found == mode]
        pairs = [found for size in sizes if (found := pair(results, size, mode, key))]
        rows = tuple(
            (p.kernel.size, p.kernel.name, figure(p.kernel), p.peer.name, f"{p.ratio:.2f}")
            for p in pairs
        )
        if rows:
            ways.append(Way(title, rows))
    return tuple(ways)


def _by_key(found: Speed, timings: Mapping[int, Iterable[Timing]]) -> tuple[Speed, ...]:
    """Return a measurement split by key size; none without such a cell."""
    return tuple(
        replace(
            found,
            slug=f"{found.slug}-{key}" if key else found.slug,
            title=f"{found.title}, AES-{key}" if key else found.title,
            timings=_ordered(own),
            key=key,
        )
        for key, own in sorted(timings.items())
    )


def _machine(cpu: str, clock_ghz: float) -> str:
    return f"{cpu}, {clock_ghz:.2f} GHz" if clock_ghz else cpu


def _method(runs: int, git: str, topic: Topic) -> str:
    times = "one run" if runs == 1 else f"{runs} runs"
    sources = f"; sources {git}" if git else ""
    return (
        f"{topic.mode}, kernels and peers in turns in one process on one core; median of {times}' "
        f"medians, spread from the lowest first to the highest third quartile{sources}"
    )


def _of_json(body: _Printed, shown: str, topic: Topic) -> tuple[Speed, ...]:
    machine = body.machine
    timings: dict[int, list[Timing]] = {}
    for row in body.cells:
        if row.mode == topic.mode and row.size:
            timings.setdefault(row.key, []).append(
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
            )
    found = Speed(
        slug=HERE,
        title=title_of(machine.cpu),
        source=shown,
        machine=_machine(machine.cpu, machine.clock_ghz),
        method=_method(max((row.runs for row in body.cells), default=0), machine.git, topic),
        timings=(),
        missing=dict(sorted(body.missing.items())),
    )
    return _by_key(found, timings)


def _of_record(record: Record, shown: str, topic: Topic) -> tuple[Speed, ...]:
    method = _method(record.runs, record.results.machine.git, topic)
    said = f"{method}; {record.note}" if record.note else method
    speeds = _of_results(record.results, shown, topic, record.slug)
    return tuple(replace(speed, method=said) for speed in speeds)
