"""Which tests `make quick` and `make test` run; `make check` runs all of them.

thorough.toml says what `make test` leaves out: each of these tests repeats, on another kernel, set
or CPU, or with another fault of its kind, what a test of `make test` covers. The table has a
section for each file. A test's value says which of its cases `make test` runs all the same: those
whose ids contain one of some words, or, given a number n, the first and every n-th after it.

quick.toml says what `make quick` runs: for each room of the package, by file, the tests whose ids
begin so.

A row that fits nothing fails the run.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

Name = tuple[str, str, str]
"""A case of a test: its file, its function and its id."""

Thorough = Mapping[str, Mapping[str, Sequence[str] | int]]
"""By file and test, the cases that every run has."""

Quick = Mapping[str, Mapping[str, Sequence[str]]]
"""By room and file, how the ids of quick tests begin."""

TESTS = Path(__file__).parents[1]


def _table(name: str) -> Any:
    return tomllib.loads((TESTS / name).read_text(encoding="utf-8"))


def thorough() -> Thorough:
    """Return the table of tests that only `make check` runs in all their cases."""
    found: Thorough = _table("thorough.toml")
    return found


def quick() -> Quick:
    """Return the table of tests that `make quick` runs."""
    found: Quick = _table("quick.toml")
    return found


def left_out(names: Sequence[Name], table: Thorough) -> list[bool]:
    """Say of each case, in the order of their collection, whether `make test` leaves it out."""
    seen: Counter[tuple[str, str]] = Counter()
    out = []
    for file, test, case in names:
        kept = table.get(file, {}).get(test, 1)
        if isinstance(kept, int):
            out.append(seen[file, test] % kept > 0)
        else:
            out.append(not any(part in case for part in kept))
        seen[file, test] += 1
    return out


def stale(names: Sequence[Name], table: Thorough) -> list[str]:
    """Return what the table says of collected files that fits none of their tests, or too much."""
    cases: dict[tuple[str, str], list[str]] = {}
    shorter = set()
    for (file, test, case), out in zip(names, left_out(names, table), strict=True):
        cases.setdefault((file, test), []).append(case)
        if out:
            shorter.add((file, test))
    files = {file for file, _ in cases}
    wrong = []
    for file in sorted(files & table.keys()):
        for test, kept in table[file].items():
            if (file, test) not in shorter:
                wrong.append(f"{file}: {test} leaves nothing out")
            wrong += [
                f"{file}: no case of {test} contains {part}"
                for part in ([] if isinstance(kept, int) else kept)
                if not any(part in case for case in cases.get((file, test), []))
            ]
    return wrong


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
