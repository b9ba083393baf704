"""docs/architecture.md says about how many lines each room has."""

from __future__ import annotations

import re

import pytest

from ghashgen.support.paths import project_root

ROOT = project_root()
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
STATED = {
    room.strip("`/"): int(lines.replace(",", ""))
    for room, lines in re.findall(r"^\| (\S+) \| ([\d,]+) \| [\d,]+ \|", PAGE, re.MULTILINE)
}
LINES = {
    folder.name: sum(
        len(path.read_text(encoding="utf-8").splitlines()) for path in folder.rglob("*.py")
    )
    for folder in (ROOT / "ghashgen").iterdir()
    if folder.is_dir() and folder.name != "__pycache__"
}


@pytest.mark.parametrize("room", STATED)
def test_a_room_has_about_as_many_lines_as_is_said(room: str) -> None:
    named = set(STATED) - {"others", "all"}
    others = sum(lines for name, lines in LINES.items() if name not in named)
    found = LINES | {"others": others, "all": sum(LINES.values())}
    assert found[room] == pytest.approx(STATED[room], rel=0.1)


def test_every_large_room_is_named() -> None:
    assert {name for name, lines in LINES.items() if lines > 2500} <= set(STATED)
