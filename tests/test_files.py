"""A file is written whole or left as it was, and the reason is one line."""

import errno
import os
from pathlib import Path

import pytest

from ghashgen.errors import GhashgenError
from ghashgen.files import write_whole


def test_a_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "f.md"
    path.write_text("old")
    write_whole(path, "new · text")
    assert path.read_text(encoding="utf-8") == "new · text"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_cannot_be_written_names_the_place_and_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(GhashgenError, match=r"No such file or directory; choose another --out"):
        write_whole(tmp_path / "none" / "f.md", "text", "choose another --out")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_where_no_room_is_left_the_old_file_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    path = tmp_path / "f.md"
    path.write_text("old")
    write = Path.write_text

    def full(path: Path, text: str, encoding: str) -> int:
        write(path, text[:1], encoding=encoding)
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(GhashgenError) as refusal:
        write_whole(path, "new")
    assert refusal.value.cause == f"{path}: {os.strerror(number)}"
    assert refusal.value.remedy.startswith("make room")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
