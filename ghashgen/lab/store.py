"""Measurements in SQLite: those of `bench` (build/bench.sqlite) and of `tune` (build/tune.sqlite).

A session is one call of `bench`, or one batch of a sweep on one machine, and is written completely
or not at all. Rows are only added; a reader chooses sessions.

A figure of a sweep counts for a code by its SHA-256, for a host and for a stage. With another code
of the same kernel, another CPU, a changed measuring program or another effort, nothing is found and
measured again.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ghashgen.lab.tune.measure import Host, Stage
from ghashgen.records.core import Cell, Machine, Results, Run, Subject
from ghashgen.support.errors import GhashgenError

SCHEMA = 3
_APPLICATION = 0x67686173
"""In the file's header, so that another program's SQLite file is left alone."""

_TABLES = """
create table session (
    id integer primary key, at text not null, cpu text not null, features text not null,
    clock_ghz real not null, git text not null, missing text not null, method text not null,
    stage text not null);
create table subject (
    session integer not null references session, name text not null, kind text not null,
    table_bytes integer not null, digest text not null, needs text not null, key integer not null,
    primary key (session, name));
create table run (
    session integer not null, name text not null, mode text not null, size integer not null,
    number integer not null, median real not null, low real not null, high real not null,
    kept integer not null, dropped integer not null,
    primary key (session, name, mode, size, number),
    foreign key (session, name) references subject);
create index subject_digest on subject (digest);
"""

Key = tuple[str, str, int]
"""Code (for a peer its name), mode, size."""


@dataclass(frozen=True)
class Figure:
    """The newest measurement of a code at a size in a mode."""

    session: int
    """Figures of one session were measured in turns."""
    kind: str
    cell: Cell
    key: int = 0
    """AES key size in bits; 0 for GHASH."""


@dataclass(frozen=True)
class Store:
    """An open store."""

    db: sqlite3.Connection
    path: Path

    def add(self, results: Results, method: str = "", stage: str = "") -> int:
        """Add a session and return its number; `method` and `stage` are those of a sweep.

        Raises:
            GhashgenError: the store cannot be written.
        """
        machine = results.machine
        with self._writing():
            number = self.db.execute(
                "insert into session (at, cpu, features, clock_ghz, git, missing, method, stage)"
                " values (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(datetime.now(UTC).isoformat(timespec="seconds"), machine.cpu),
                    *(" ".join(machine.features), machine.clock_ghz, machine.git),
                    *(json.dumps(dict(results.missing)), method, stage),
                ),
            ).lastrowid
            self.db.executemany(
                "insert into subject values (?, ?, ?, ?, ?, ?, ?)",
                [
                    (number, s.name, s.kind, s.table_bytes, s.digest, " ".join(s.needs), s.key)
                    for s in results.subjects.values()
                ],
            )
            self.db.executemany(
                "insert into run values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (number, c.name, c.mode, c.size, i, r.median, r.low, r.high, r.kept, r.dropped)
                    for c in results.cells
                    for i, r in enumerate(c.runs)
                ],
            )
        if number is None:
            raise AssertionError("an insert has a row number")
        return number

    def last(self) -> int:
        """Return the number of the newest session, 0 if there is none."""
        (number,) = self.db.execute("select coalesce(max(id), 0) from session").fetchone()
        return int(number)

    def load(self, session: int | None = None) -> Results:
        """Return a session's results; the last one by default.

        Raises:
            GhashgenError: there is no such session.
        """
        number = self.last() if session is None else session
        row = self.db.execute(
            "select cpu, features, clock_ghz, git, missing from session where id = ?", (number,)
        ).fetchone()
        if row is None:
            raise GhashgenError(f"{self.path} has no such measurement", "run ghashgen bench")
        cpu, features, ghz, git, missing = row
        subjects = {
            name: Subject(name, kind, table_bytes, digest, tuple(needs.split()), key)
            for name, kind, table_bytes, digest, needs, key in self.db.execute(
                "select name, kind, table_bytes, digest, needs, key from subject where session = ?"
                " order by rowid",
                (number,),
            )
        }
        runs: dict[tuple[str, int, str], list[Run]] = {}
        for name, mode, size, *values in self.db.execute(
            "select name, mode, size, median, low, high, kept, dropped from run"
            " where session = ? order by rowid",
            (number,),
        ):
            runs.setdefault((name, size, mode), []).append(Run(*values))
        cells = tuple(Cell(*key, tuple(found)) for key, found in runs.items())
        machine = Machine(cpu, tuple(features.split()), ghz, git)
        return Results(machine, subjects, cells, json.loads(missing))

    def figures(self, host: Host, stage: Stage, since: int = 0) -> Mapping[Key, Figure]:
        """Return what a kind of machine measured at a stage, in sessions after number `since`."""
        found = {}
        where = (host.cpu, " ".join(host.features), host.method, stage.key, since)
        for (number,) in self.db.execute(
            "select id from session where (cpu, features, method, stage) = (?, ?, ?, ?) and id > ?"
            " order by id",
            where,
        ).fetchall():
            results = self.load(number)
            for cell in results.cells:
                subject = results.subjects[cell.name]
                key = (subject.digest or cell.name, cell.mode, cell.size)
                found[key] = Figure(number, subject.kind, cell, subject.key)
        return found

    def require_writable(self) -> None:
        """Refuse now what `add` would refuse after a long measurement.

        Raises:
            GhashgenError: as `add`.
        """
        with self._writing():
            self.db.execute("begin immediate")

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            with self.db:
                yield
        except sqlite3.Error as error:
            raise GhashgenError(f"{self.path}: {error}", "choose another --store") from None


def complete(figures: Mapping[Key, Figure], code: str, cells: Iterable[tuple[str, int]]) -> bool:
    """Return whether a code has a figure in every cell (size and mode)."""
    return all((code, mode, size) in figures for mode, size in cells)


@contextmanager
def open_store(path: Path) -> Iterator[Store]:
    """Open or create a store.

    Raises:
        GhashgenError: the file cannot be written, is something else, or has another schema.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        db = sqlite3.connect(path, timeout=30)
    except (OSError, sqlite3.Error) as error:
        raise GhashgenError(f"{path}: {error}", "choose another --store") from None
    try:
        _prepare(db, path)
        yield Store(db, path)
    finally:
        db.close()


def _prepare(db: sqlite3.Connection, path: Path) -> None:
    try:
        (tables,) = db.execute("select count(*) from sqlite_master").fetchone()
        (application,) = db.execute("pragma application_id").fetchone()
        (schema,) = db.execute("pragma user_version").fetchone()
        if tables and (application, schema) != (_APPLICATION, SCHEMA):
            raise GhashgenError(
                f"{path} is not a store of this version", "move it away, or choose another --store"
            )
        # A reader sees the state before or after a measurement, even if a writer is killed.
        db.execute("pragma journal_mode = wal")
        db.execute("pragma foreign_keys = on")
        if not tables:
            db.executescript(
                f"begin exclusive; pragma application_id = {_APPLICATION};"
                f" pragma user_version = {SCHEMA}; {_TABLES} commit;"
            )
    except sqlite3.Error as error:
        raise GhashgenError(f"{path}: {error}", "move the file away, it is not a store") from None
