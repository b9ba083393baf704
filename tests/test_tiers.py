"""What `make test` leaves to `make check`: by a table, in which nothing may be stale."""

import subprocess
import sys
from pathlib import Path

import pytest
from tiers import left_out, stale, thorough

TABLE = {"test_a.py": {"test_all": ["sse"], "test_none": []}}


def test_cases_are_left_out_but_for_those_that_are_kept() -> None:
    assert left_out("test_a.py", "test_all", "test_all[avx]", TABLE)
    assert not left_out("test_a.py", "test_all", "test_all[sse-1]", TABLE)
    assert left_out("test_a.py", "test_none", "test_none", TABLE)
    assert not left_out("test_a.py", "test_other", "test_other", TABLE)
    assert not left_out("test_b.py", "test_all", "test_all[avx]", TABLE)


def test_what_fits_nothing_is_stale() -> None:
    names = [("test_a.py", "test_all", "test_all[avx]"), ("test_a.py", "test_none", "test_none")]
    assert stale(names, TABLE) == ["test_a.py: no case of test_all contains sse"]
    names = [("test_a.py", "test_all", "test_all[sse]")]
    assert stale(names, TABLE) == [
        "test_a.py: test_all leaves nothing out",
        "test_a.py: test_none leaves nothing out",
    ]
    assert stale([("test_b.py", "test_all", "test_all")], TABLE) == []


@pytest.mark.parametrize("more", [[], ["--thorough"]], ids=["test", "check"])
def test_what_is_left_out_is_counted(more: list[str]) -> None:
    file = Path(__file__).with_name(next(iter(thorough())))
    words = [sys.executable, "-m", "pytest", "--collect-only", "-o", "addopts=", *more]
    done = subprocess.run([*words, file], capture_output=True, text=True, check=True)
    assert (" deselected" in done.stdout) == (not more), done.stdout[-500:]
