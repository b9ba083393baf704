"""A measurement, from the store of `ghashgen bench`, its JSON, or a record of docs/bench."""

import json
from collections.abc import Iterable
from dataclasses import replace
from math import isnan
from pathlib import Path
from typing import Any

from ghashgen.lab.bench.store import load
from ghashgen.lab.report.data import Speed, Timing
from ghashgen.records.core import Results
from ghashgen.records.cpus import title_of
from ghashgen.records.levels import level_of
from ghashgen.records.records import Record, load_record
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
        body = json.loads(path.read_text(encoding="utf-8"))
        if "cells" in body:
            return _of_json(body, shown)
    except OSError as error:
        raise GhashgenError(f"{path}: {error.strerror}", "run ghashgen bench") from None
    except (ValueError, KeyError, TypeError) as error:
        raise GhashgenError(
            f"{path} is no measurement: {type(error).__name__} {error}",
            "name a file of ghashgen bench --store or --json, or a record of docs/bench",
        ) from None
    return _of_record(load_record(path), shown)


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


def _of_json(body: dict[str, Any], shown: str) -> Speed:
    rows = [row for row in body["cells"] if row["mode"] == MODE and row["size"]]
    machine = body["machine"]
    return Speed(
        slug=HERE,
        title=title_of(machine["cpu"]),
        source=shown,
        machine=_machine(machine["cpu"], machine["clock_ghz"]),
        method=_method(max((row["runs"] for row in body["cells"]), default=0), machine["git"]),
        timings=_ordered(
            Timing(
                name=str(row["name"]),
                kind=str(row["kind"]),
                size=int(row["size"]),
                per_byte=row["cycles"] / row["size"],
                low=row["low"] / row["size"],
                high=row["high"] / row["size"],
                samples=int(row["kept"]),
                digest=str(row["digest"]),
                level=level_of(row["needs"].split()),
            )
            for row in rows
        ),
        missing=dict(sorted(body["missing"].items())),
    )


def _of_record(record: Record, shown: str) -> Speed:
    speed = _of_results(record.results, shown, record.slug)
    method = _method(record.runs, record.results.machine.git)
    return replace(speed, method=f"{method}; {record.note}" if record.note else method)
