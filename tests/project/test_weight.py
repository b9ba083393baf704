"""docs/architecture.md says about how many lines each room has, and how many of them are code."""

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from ghashgen.support.paths import project_root

ROOT = project_root()
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("## How much code there is")[2]


def number(text: str) -> int:
    return int(text.replace(",", ""))


STATED = {
    room.strip("`/"): (number(lines), number(code))
    for room, lines, code in re.findall(r"^\| (\S+) \| ([\d,]+) \| ([\d,]+) \|", PAGE, re.MULTILINE)
}
KINDS = {kind: number(n) for n, kind in re.findall(r"([\d,]+) (?:lines )?of (\w+)", SECTION)}
"""Lines of each kind in the whole package."""
ABILITIES = dict(re.findall(r"^\| [^|]+ \| `([^|`]+)` \| ([\d,]+) \|", SECTION, re.MULTILINE))
"""Lines of the files with a word in their paths."""


def kinds(path: Path) -> Counter[str]:
    """Return how many lines of a file are of which kind."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    kind = ["code"] * len(lines)
    for i, line in enumerate(map(str.strip, lines)):
        kind[i] = "blanks" if not line else "comments" if line[0] == "#" else "code"
    for node in ast.walk(ast.parse(text)):
        docs = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if docs or isinstance(node, ast.Import | ast.ImportFrom):
            for i in range(node.lineno - 1, node.end_lineno or 0):
                kind[i] = "docstrings" if docs else "imports"
    return Counter(kind)


@cache
def files() -> dict[str, Counter[str]]:
    """Return the lines of every file of a room, by its path in the package."""
    package = ROOT / "ghashgen"
    return {path.relative_to(package).as_posix(): kinds(path) for path in package.glob("*/**/*.py")}


def room_of(path: str) -> str:
    return path.partition("/")[0]


def lines_of(room: str) -> Counter[str]:
    """Return the lines of a room, of all, or of those without a row."""
    rooms = {room_of(path) for path in files()}
    wanted = {"all": rooms, "others": rooms - {*STATED}}.get(room, {room})
    return sum((n for path, n in files().items() if room_of(path) in wanted), Counter[str]())


@pytest.mark.parametrize("room", STATED)
def test_a_room_has_about_as_many_lines_as_is_said(room: str) -> None:
    found = lines_of(room)
    assert (found.total(), found["code"]) == pytest.approx(STATED[room], rel=0.1)


def test_lines_are_of_the_kinds_that_are_said() -> None:
    found = lines_of("all")
    assert KINDS.keys() == found.keys()
    assert {kind: found[kind] for kind in KINDS} == pytest.approx(KINDS, rel=0.1)


@pytest.mark.parametrize("word", ABILITIES)
def test_an_ability_has_about_as_many_lines_as_is_said(word: str) -> None:
    lines = sum(n.total() for path, n in files().items() if word in path)
    assert lines == pytest.approx(number(ABILITIES[word]), rel=0.1)


def test_every_large_room_is_named() -> None:
    rooms = {room_of(path) for path in files()}
    assert {room for room in rooms if lines_of(room).total() > 2500} <= set(STATED)
    assert len(ABILITIES) > 4


def test_emitted_text_is_as_large_as_is_said() -> None:
    said = re.search(r"have (\d+) MB of text: (\d+) MB are comments, and (\d+) MB", SECTION)
    assert said
    found = [0, 0, 0]
    for path in (ROOT / "generated").glob("*/*.asm"):
        for line in path.read_text(encoding="utf-8").splitlines():
            code, _, comment = line.partition(";")
            spaces = len(code) - len(code.strip())
            found = [found[0] + len(line) + 1, found[1] + len(comment), found[2] + spaces]
    assert [n / 1e6 for n in found] == pytest.approx([int(n) for n in said.groups()], rel=0.1)
