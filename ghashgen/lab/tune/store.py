"""Measurements of sweeps, in SQLite (`build/tune.sqlite`): machine, features, sources, statistics.

A measurement is one batch on one machine and is written completely or not at all. It counts for a
code by its SHA-256, for a host and for a stage. With another code of the same kernel, another CPU,
a changed measuring program or another effort, nothing is found and measured again. Rows are only
added.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ghashgen.lab.tune.measure import Host, Measured, Stage
from ghashgen.records.core import Cell, Run
from ghashgen.support.errors import GhashgenError

SCHEMA = 2

_APPLICATION = 0x67686173
"""In the file's header, so that another program's SQLite file is left alone."""

_TABLES = """
create table machine (
    id integer primary key, cpu text not null, features text not null, method text not null,
    unique (cpu, features, method));
create table run (
    id integer primary key, machine integer not null references machine, stage text not null,
    git text not null, at text not null, ghz real not null);
create table subject (
    run integer not null references run, name text not null, kind text not null,
    code text not null, table_bytes integer not null, key integer not null default 0,
    primary key (run, name));
create table sample (
    run integer not null, name text not null, mode text not null, size integer not null,
    number integer not null, median real not null, low real not null, high real not null,
    kept integer not null, dropped integer not null,
    primary key (run, name, mode, size, number), foreign key (run, name) references subject);
create index subject_code on subject (code);
"""

_WITHOUT_KEYS = 1
"""The schema before AES-GCM: all its subjects have key 0, which is GHASH."""

Key = tuple[str, str, int]
"""Code (for a peer its name), mode, size."""


@dataclass(frozen=True)
class Figure:
    """The newest measurement of a code at a size in a mode."""

    run: int
    """Figures of one run were measured in turns."""
    kind: str
    cell: Cell
    key: int = 0
    """AES key size in bits; 0 for GHASH."""


@dataclass(frozen=True)
class Store:
    """An open store."""

    db: sqlite3.Connection
    path: Path

    def add(self, measured: Measured, stage: Stage) -> int:
        """Add a batch's result, and return its number."""
        host = measured.host
        where = (host.cpu, " ".join(host.features), host.method)
        with self._writing():
            self.db.execute(
                "insert or ignore into machine (cpu, features, method) values (?, ?, ?)", where
            )
            number = self.db.execute(
                "insert into run (machine, stage, git, at, ghz) select id, ?, ?, ?, ? from machine"
                " where (cpu, features, method) = (?, ?, ?)",
                (
                    stage.key,
                    measured.git,
                    datetime.now(UTC).isoformat(timespec="seconds"),
                    measured.ghz,
                    *where,
                ),
            ).lastrowid
            self.db.executemany(
                "insert into subject values (?, ?, ?, ?, ?, ?)",
                [
                    (number, s.name, s.kind, s.digest, s.table_bytes, s.key)
                    for s in measured.subjects
                ],
            )
            self.db.executemany(
                "insert into sample values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (number, c.name, c.mode, c.size, i, r.median, r.low, r.high, r.kept, r.dropped)
                    for c in measured.cells
                    for i, r in enumerate(c.runs)
                ],
            )
        if number is None:
            raise AssertionError("an insert has a row number")
        return number

    def last(self) -> int:
        """Return the number of the newest measurement, 0 if there is none."""
        (number,) = self.db.execute("select coalesce(max(id), 0) from run").fetchone()
        return int(number)

    def figures(self, host: Host, stage: Stage, since: int = 0) -> Mapping[Key, Figure]:
        """Return the measurements on a kind of machine at a stage, after measurement `since`."""
        runs: dict[tuple[int, str, str, int, str, str, int], list[Run]] = {}
        for number, code, kind, bits, name, mode, size, *values in self.db.execute(
            "select run.id, code, kind, key, name, mode, size, median, low, high, kept, dropped"
            " from sample join subject using (run, name) join run on run.id = sample.run"
            " join machine on machine.id = run.machine"
            " where (cpu, features, method, stage) = (?, ?, ?, ?) and run.id > ?"
            " order by run.id, sample.rowid",
            (host.cpu, " ".join(host.features), host.method, stage.key, since),
        ):
            key = (number, code, kind, bits, name, mode, size)
            runs.setdefault(key, []).append(Run(*values))
        return {
            (code or name, mode, size): Figure(
                number, kind, Cell(name, size, mode, tuple(found)), bits
            )
            for (number, code, kind, bits, name, mode, size), found in runs.items()
        }

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
        if tables and application != _APPLICATION:
            raise GhashgenError(f"{path} is not a store of ghashgen tune", "choose another --store")
        if tables and schema == _WITHOUT_KEYS:
            db.executescript(
                "begin exclusive; alter table subject add key integer not null default 0;"
                f" pragma user_version = {SCHEMA}; commit;"
            )
        elif tables and schema != SCHEMA:
            raise GhashgenError(
                f"{path} has schema {schema}, this version writes {SCHEMA}", "move it away"
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
