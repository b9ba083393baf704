"""What `make quick` and `make test` leave to longer runs, by tables in which nothing is stale."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.tiers import (
    Thorough,
    is_quick,
    left_out,
    quick,
    quick_files,
    stale,
    stale_quick,
    thorough,
)

import ghashgen

TESTS = Path(__file__).parents[1]
ROOMS = {path.name: path.parent.name for path in TESTS.glob("*/test_*.py")}
"""The folder of each file of tests."""

TABLE = Thorough(
    {
        "test_a.py": {
            "test_all": ["sse"],
            "test_none": "test_a.py::test_all",
            "test_some": 3,
            "test_kinds": {"each": "refusal"},
            "test_chosen": {"each": "refusal", "run": ["2-memory", "3-"]},
            "test_shared": {"each": "refusal", "run": "small"},
        }
    },
    {"refusal": "-(function|memory)"},
    runs={"small": ["2-memory", "3-"]},
)
QUICK = {"verify": {"test_a.py": ["test_all[s", "test_none"]}}


def _cases(test: str, *ids: str) -> list[tuple[str, str, str]]:
    return [("test_a.py", test, f"{test}[{one}]" if one else test) for one in ids]


def test_cases_are_left_out_but_for_those_that_are_kept() -> None:
    assert left_out(_cases("test_all", "avx", "sse-1"), TABLE) == [True, False]
    assert left_out(_cases("test_none", ""), TABLE) == [True]
    assert left_out(_cases("test_other", "avx"), TABLE) == [False]
    assert left_out([("test_b.py", "test_all", "test_all[avx]")], TABLE) == [False]


def test_a_number_keeps_the_first_case_and_every_so_many() -> None:
    names = _cases("test_some", *"abcdefg")
    assert left_out(names, TABLE) == [False, True, True, False, True, True, False]


def test_every_kind_keeps_its_first_case_or_the_chosen_ones() -> None:
    ids = ("1-memory", "2-memory", "3-function", "4-function")
    assert left_out(_cases("test_kinds", *ids), TABLE) == [False, True, False, True]
    for test in ("test_chosen", "test_shared"):
        assert left_out(_cases(test, *ids), TABLE) == [True, False, False, True]


RIGHT = (
    *_cases("test_all", "avx", "sse"),
    *_cases("test_none", ""),
    *_cases("test_some", *"ab"),
    *_cases("test_kinds", "1-memory", "2-memory", "3-function"),
    *_cases("test_chosen", "1-memory", "2-memory", "3-function"),
    *_cases("test_shared", "1-memory", "2-memory", "3-function"),
)


@pytest.mark.parametrize(
    ("case", "other", "said"),
    [
        ("test_all[sse]", "", ["no case of test_all contains sse", "no case of test_all is run",
                               "test_a.py::test_all, which stands for test_none, is not run"]),
        ("test_all[avx]", "", ["test_all leaves nothing out"]),
        ("test_none", "", ["test_none leaves nothing out"]),
        ("test_some[b]", "", ["test_some leaves nothing out"]),
        ("test_kinds[2-memory]", "", ["test_kinds leaves nothing out"]),
        ("test_chosen[2-memory]", "", [
            "no case of test_chosen contains 2-memory",
            "no case of test_chosen is run that is of the kind 'memory'",
        ]),
        ("test_chosen[3-function]", "test_chosen[3-none]", []),
        ("test_shared[2-memory]", "",
         ["no case of test_shared is run that is of the kind 'memory'"]),
        ("test_chosen[3-function]", "test_chosen[4-function]", [
            "no case of test_chosen contains 3-",
            "no case of test_chosen is run that is of the kind 'function'",
        ]),
    ],
)  # fmt: skip
def test_what_fits_nothing_or_has_no_case_is_stale(case: str, other: str, said: list[str]) -> None:
    """In place of one case of a table without faults there is another, or none."""
    assert stale(RIGHT, TABLE) == []
    names = [(file, test, other if id_ == case else id_) for file, test, id_ in RIGHT]
    assert stale([name for name in names if name[2]], TABLE) == [f"test_a.py: {x}" for x in said]


def test_two_cpus_are_enough_but_for_some_files() -> None:
    table = Thorough({}, cpus=("as-found",), as_all=("test_b.py",))
    assert table.runs_as("test_a.py", None)
    assert table.runs_as("test_a.py", "as-found")
    assert not table.runs_as("test_a.py", "sse")
    assert table.runs_as("test_b.py", "sse")


def test_files_that_are_not_collected_are_not_judged() -> None:
    assert stale([("test_b.py", "test_all", "test_all")], TABLE) == []


def test_quick_tests_are_those_whose_ids_begin_so() -> None:
    assert is_quick("test_a.py", "test_all[sse]", QUICK)
    assert not is_quick("test_a.py", "test_all[avx]", QUICK)
    assert not is_quick("test_b.py", "test_all[sse]", QUICK)
    assert quick_files(QUICK) == {"test_a.py"}
    assert stale_quick(_cases("test_all", "sse"), QUICK) == [
        "test_a.py: no test begins with test_none"
    ]
    assert stale_quick([("test_b.py", "test_all", "test_all")], QUICK) == []


def test_every_room_has_a_quick_test() -> None:
    package = Path(ghashgen.__file__).parent
    rooms = {one.name for one in package.iterdir() if (one / "__init__.py").exists()}
    assert quick().keys() == rooms
    for room, files in quick().items():
        assert all(ROOMS[file] == room for file in files), room
    assert thorough().rows.keys() <= ROOMS.keys()


def test_the_tests_mirror_the_package() -> None:
    """A room of tests is a room of the package, but for those of the project as a whole."""
    package = {one.parent.name for one in Path(ghashgen.__file__).parent.glob("*/__init__.py")}
    assert set(ROOMS.values()) - package == {"project"}
    files = [path.name for path in TESTS.rglob("test_*.py")]
    assert sorted(ROOMS) == sorted(set(files)) == sorted(files), "one file of each name, in a room"


@pytest.mark.parametrize(
    ("more", "counted"),
    [([], True), (["--thorough"], False), (["--quick"], True)],
    ids=["test", "check", "quick"],
)
def test_what_is_left_out_is_counted(more: list[str], counted: bool) -> None:
    file = "test_identities.py" if "--quick" in more else next(iter(thorough().rows))
    words = [sys.executable, "-m", "pytest", "--collect-only", "-o", "addopts=", *more]
    words += [TESTS / ROOMS[file] / file]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert (" deselected" in done.stdout) == counted, done.stdout[-500:]


def test_no_test_module_imports_another() -> None:
    """What two of them need lies in tests/helpers/."""
    found = set()
    for path in sorted(TESTS.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                found.add(node.module or "")
            elif isinstance(node, ast.Import):
                found |= {name.name for name in node.names}
    assert [name for name in found if name.startswith("test_")] == []
