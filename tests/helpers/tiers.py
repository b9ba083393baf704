"""Which tests `make quick` and `make test` run; `make check` runs all of them.

thorough.toml says what `make test` leaves out: each of these cases repeats, on another kernel, set
or CPU, or with another fault of its kind, what a case of `make test` covers. It has a section for
each file. A test's row says which of its cases `make test` runs all the same:

- words: the cases whose ids contain one of them;
- a number n: the first case and every n-th after it;
- `each = KIND`: the first case of every kind. KIND names a pattern of the section `kinds`: what it
  finds in an id is the case's kind. With `run` too, words or the name of words in the section
  `runs`, it is the cases with these, and every kind must have one;
- another test, as FILE::TEST: none, since that test fails for the same reasons. `make test` must
  run it.

Tests that run as every CPU of cpus.py run as those of the section `cpus` alone, except in the files
that it names.

quick.toml says what `make quick` runs: for each room of the package, by file, the tests whose ids
begin so.

A row that fits nothing, or that leaves a kind without a case, fails the run.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Name = tuple[str, str, str]
"""A case of a test: its file, its function and its id."""

Row = int | str | Sequence[str] | Mapping[str, Any]
"""Which cases of a test every run has."""

Quick = Mapping[str, Mapping[str, Sequence[str]]]
"""By room and file, how the ids of quick tests begin."""

TESTS = Path(__file__).parents[1]


@dataclass(frozen=True)
class Thorough:
    """What thorough.toml says."""

    rows: Mapping[str, Mapping[str, Row]]
    """By file and test."""
    kinds: Mapping[str, str] = field(default_factory=dict)
    """Patterns by name."""
    cpus: Sequence[str] = ()
    """What tests with the marker `cpu` that names none run as."""
    as_all: Sequence[str] = ()
    """Files whose tests run as every CPU."""
    runs: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Words by name, for rows of several tests that share what they make."""

    def runs_as(self, file: str, cpu: str | None) -> bool:
        """Return whether a file's tests run as a CPU, which they do not name; None for any."""
        return cpu is None or cpu in self.cpus or file in self.as_all

    def kind(self, row: Row, case: str) -> str:
        """Return the kind of a case; empty where a row knows none, or its pattern finds none."""
        found = re.search(self.kinds[row["each"]], case) if isinstance(row, Mapping) else None
        return " ".join(found.groups() or (found[0],)) if found else ""


def _table(name: str) -> Any:
    return tomllib.loads((TESTS / name).read_text(encoding="utf-8"))


def thorough() -> Thorough:
    """Return the table of tests that only `make check` runs in all their cases."""
    rows = _table("thorough.toml")
    kinds, cpus, runs = (rows.pop(section) for section in ("kinds", "cpus", "runs"))
    return Thorough(rows, kinds, cpus["run"], cpus["as_all"], runs)


def quick() -> Quick:
    """Return the table of tests that `make quick` runs."""
    found: Quick = _table("quick.toml")
    return found


def left_out(names: Sequence[Name], table: Thorough) -> list[bool]:
    """Say of each case, in the order of their collection, whether `make test` leaves it out."""
    seen: Counter[tuple[str, ...]] = Counter()
    out = []
    for file, test, case in map(_without_test, names):
        row = table.rows.get(file, {}).get(test, 1)
        place = (file, test, table.kind(row, case))
        out.append(not _runs(table, row, case, seen[place]))
        seen[place] += 1
    return out


def _without_test(name: Name) -> Name:
    """Return a name with the id of its parameters alone: words mean these."""
    file, test, case = name
    return file, test, case.removeprefix(test)


def _runs(table: Thorough, row: Row, case: str, before: int) -> bool:
    """Whether every run has a case; `before` counts the earlier ones of its test and kind."""
    if isinstance(row, int):
        return before % row == 0
    if isinstance(row, str):
        return False
    if not isinstance(row, Mapping):
        return any(part in case for part in row)
    run = row.get("run")
    words = table.runs[run] if isinstance(run, str) else run
    return before == 0 if words is None else any(part in case for part in words)


def stale(names: Sequence[Name], table: Thorough) -> list[str]:
    """Return what the table says of collected files that fits none of their tests, or too much, and
    the kinds of which `make test` would run no case."""
    cases: dict[tuple[str, str], dict[str, bool]] = {}
    for name, out in zip(names, left_out(names, table), strict=True):
        file, test, case = _without_test(name)
        cases.setdefault((file, test), {})[case] = out
    files = {file for file, _ in cases}
    wrong = []
    for file in sorted(files & table.rows.keys()):
        for test, row in table.rows[file].items():
            own = cases.get((file, test), {})
            if not any(own.values()):
                wrong.append(f"{file}: {test} leaves nothing out")
            wrong += [
                f"{file}: no case of {test} contains {part}"
                for part in _words(row)
                if not any(part in case for case in own)
            ]
            wrong += [f"{file}: {why}" for why in _uncovered(table, row, test, own)]
            if isinstance(row, str):
                other, _, stand_in = row.partition("::")
                run = cases.get((other, stand_in), {})
                if other in files and all(run.values()):
                    wrong.append(f"{file}: {row}, which stands for {test}, is not run")
    return wrong


def _words(row: Row) -> Sequence[str]:
    """Return the words of a row's own, each of which must be of use."""
    words = row.get("run", ()) if isinstance(row, Mapping) else row
    return () if isinstance(words, int | str) else words


def _uncovered(table: Thorough, row: Row, test: str, cases: Mapping[str, bool]) -> Iterable[str]:
    """Yield which kinds of a test, or which test, no run but the longest has a case of."""
    kinds: dict[bool, set[str]] = {out: set() for out in (True, False)}
    for case, out in cases.items():
        kinds[out].add(table.kind(row, case))
    for kind in [] if isinstance(row, str) else sorted(kinds[True] - kinds[False]):
        yield f"no case of {test} is run" + (f" that is of the kind {kind!r}" if kind else "")


def quick_files(table: Quick) -> set[str]:
    """Return the files that have a quick test."""
    return {file for files in table.values() for file in files}


def is_quick(file: str, case: str, table: Quick) -> bool:
    """Whether `make quick` runs this case."""
    begins = [begin for files in table.values() for begin in files.get(file, ())]
    return case.startswith(tuple(begins))


def stale_quick(names: Iterable[Name], table: Quick) -> list[str]:
    """Return the rows of the table of quick tests that fit no case of collected files."""
    cases: dict[str, list[str]] = {}
    for file, _, case in names:
        cases.setdefault(file, []).append(case)
    return [
        f"{file}: no test begins with {begin}"
        for files in table.values()
        for file, begins in files.items()
        for begin in begins
        if file in cases and not any(case.startswith(begin) for case in cases[file])
    ]
