"""Measurements in SQLite (`build/bench.sqlite`): machine, sources, subjects, runs, time.

One session is one call of `bench`. Rows are only added; a reader chooses sessions.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from ghashgen.records.core import Cell, Machine, Results, Run, Subject
from ghashgen.support.errors import GhashgenError

_SCHEMA = """
create table if not exists session (
    id integer primary key, at text not null, cpu text not null, features text not null,
    clock_ghz real not null, git text not null, missing text not null);
create table if not exists subject (
    session integer not null references session, name text not null, kind text not null,
    table_bytes integer not null, digest text not null, needs text not null,
    key integer not null default 0,
    primary key (session, name));
create table if not exists run (
    session integer not null, name text not null, mode text not null, size integer not null,
    number integer not null, median real not null, low real not null, high real not null,
    kept integer not null, dropped integer not null,
    primary key (session, name, mode, size, number),
    foreign key (session, name) references subject);
create index if not exists subject_digest on subject (digest);
"""


@contextmanager
def _open(path: Path) -> Iterator[sqlite3.Connection]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path, timeout=30)
    except (OSError, sqlite3.Error) as error:
        raise GhashgenError(f"{path}: {error}", "choose another --store") from None
    try:
        connection.executescript(_SCHEMA)
        _add_keys(connection)
        with connection:
            yield connection
    except sqlite3.Error as error:
        raise GhashgenError(
            f"{path}: {error}", "move the file away: it is not a store of this version"
        ) from None
    finally:
        connection.close()


def _add_keys(db: sqlite3.Connection) -> None:
    """Add the column that a store from before AES-GCM lacks."""
    if "key" not in {row[1] for row in db.execute("pragma table_info(subject)")}:
        db.execute("alter table subject add column key integer not null default 0")


def require_store(path: Path) -> None:
    """Refuse now what `save` would refuse after a long measurement.

    Raises:
        GhashgenError: as `save`.
    """
    with _open(path) as db:
        db.execute("begin immediate")


def save(results: Results, path: Path) -> int:
    """Add a session and return its number.

    Raises:
        GhashgenError: the store cannot be written, or the file is something else.
    """
    machine = results.machine
    with _open(path) as db:
        session = db.execute(
            "insert into session (at, cpu, features, clock_ghz, git, missing)"
            " values (?, ?, ?, ?, ?, ?)",
            (
                datetime.now(UTC).isoformat(timespec="seconds"),
                machine.cpu,
                " ".join(machine.features),
                machine.clock_ghz,
                machine.git,
                json.dumps(dict(results.missing)),
            ),
        ).lastrowid
        if session is None:
            raise AssertionError("an insert has a row number")
        db.executemany(
            "insert into subject values (?, ?, ?, ?, ?, ?, ?)",
            [
                (session, s.name, s.kind, s.table_bytes, s.digest, " ".join(s.needs), s.key)
                for s in results.subjects.values()
            ],
        )
        db.executemany(
            "insert into run values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (session, c.name, c.mode, c.size, i, r.median, r.low, r.high, r.kept, r.dropped)
                for c in results.cells
                for i, r in enumerate(c.runs)
            ],
        )
    return session


def load(path: Path, session: int | None = None) -> Results:
    """Return a session's results; the last one by default.

    Raises:
        GhashgenError: there is no such session.
    """
    with _open(path) as db:
        row = db.execute(
            "select id, cpu, features, clock_ghz, git, missing from session"
            " where ? is null or id = ? order by id desc limit 1",
            (session, session),
        ).fetchone()
        if row is None:
            raise GhashgenError(f"{path} has no such measurement", "run ghashgen bench")
        number, cpu, features, ghz, git, missing = row
        subjects = {
            name: Subject(name, kind, table_bytes, digest, tuple(needs.split()), key)
            for name, kind, table_bytes, digest, needs, key in db.execute(
                "select name, kind, table_bytes, digest, needs, key from subject where session = ?"
                " order by rowid",
                (number,),
            )
        }
        runs: dict[tuple[str, int, str], list[Run]] = {}
        for name, mode, size, *values in db.execute(
            "select name, mode, size, median, low, high, kept, dropped from run"
            " where session = ? order by rowid",
            (number,),
        ):
            runs.setdefault((name, size, mode), []).append(Run(*values))
    cells = tuple(Cell(*key, tuple(found)) for key, found in runs.items())
    machine = Machine(cpu, tuple(features.split()), ghz, git)
    return Results(machine, subjects, cells, json.loads(missing))
