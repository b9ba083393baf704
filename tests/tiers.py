"""Which tests `make test` leaves to `make check`, from thorough.toml.

Each of them repeats, on another kernel, set or CPU, what a test of `make test` covers. The table
has a section for each file; a test's value lists what the ids of the cases contain that `make test`
runs all the same. A section that fits nothing fails the run.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

Thorough = Mapping[str, Mapping[str, Sequence[str]]]
"""By file and test, the cases that every run has."""

TABLE = Path(__file__).with_name("thorough.toml")


def thorough(table: Path = TABLE) -> Thorough:
    """Return the table of tests that only `make check` runs in all their cases."""
    found: Thorough = tomllib.loads(table.read_text(encoding="utf-8"))
    return found


def left_out(file: str, test: str, case: str, table: Thorough) -> bool:
    """Whether `make test` leaves out this case of a test."""
    kept = table.get(file, {}).get(test)
    return kept is not None and not any(part in case for part in kept)


def stale(names: Iterable[tuple[str, str, str]], table: Thorough) -> list[str]:
    """Return what the table says of collected files that fits none of their tests, or too much.

    `names` are file, test and case of every test of those files.
    """
    cases: dict[tuple[str, str], list[str]] = {}
    for file, test, case in names:
        cases.setdefault((file, test), []).append(case)
    files = {file for file, _ in cases}
    wrong = []
    for file in sorted(files & table.keys()):
        for test, kept in table[file].items():
            found = cases.get((file, test), [])
            if not any(left_out(file, test, case, table) for case in found):
                wrong.append(f"{file}: {test} leaves nothing out")
            wrong += [
                f"{file}: no case of {test} contains {part}"
                for part in kept
                if not any(part in case for case in found)
            ]
    return wrong
