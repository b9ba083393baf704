"""A measurement, from a store of `ghashgen bench`, or a record of docs/bench."""

from dataclasses import dataclass
from math import isnan
from pathlib import Path

from ghashgen.lab.report.data import Speed, Timing, Way
from ghashgen.lab.report.topics import Topic
from ghashgen.lab.standing import Standing, figure
from ghashgen.lab.store import open_store
from ghashgen.records.core import Cell, Subject
from ghashgen.records.records import Record, load_record
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
        GhashgenError: the file is unreadable, is neither of them, or has no such session.
    """
    try:
        with path.open("rb") as file:
            stored = file.read(len(_SQLITE)) == _SQLITE
        if stored:
            which = "" if session is None else f", number {session}"
            with open_store(path) as store:
                results = store.load(session)
            runs = max((len(cell.runs) for cell in results.cells), default=0)
            return Source(Record(HERE, runs, "", results), f"{shown}{which}")
        if session is not None:
            raise GhashgenError(
                f"{path} is no store of ghashgen bench, so it has no --session", "leave it out"
            )
    except OSError as error:
        raise GhashgenError(f"{path}: {error.strerror}", "run ghashgen bench") from None
    try:
        return Source(load_record(path), shown)
    except GhashgenError as refusal:
        remedy = "name a store of ghashgen bench, or a record of docs/bench"
        raise GhashgenError(refusal.cause, remedy) from None


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
