"""A file is written whole or left as it was, and the reason is one line."""

import errno
import os
from pathlib import Path

import pytest

from ghashgen.support.errors import GhashgenError
from ghashgen.support.files import make_folder, write_whole


def test_a_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "f.md"
    path.write_text("old")
    write_whole(path, "new · text")
    assert path.read_text(encoding="utf-8") == "new · text"
    write_whole(path, b"\0\r\n")
    assert path.read_bytes() == b"\0\r\n"
    assert list(tmp_path.iterdir()) == [path]


def test_a_writer_makes_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "new" / "below" / "file"
    write_whole(path, "text")
    assert path.read_text(encoding="utf-8") == "text"
    assert list(path.parent.iterdir()) == [path]


def test_a_file_that_cannot_be_written_names_the_place_and_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(GhashgenError, match=r"file/below: Not a directory; choose another --out"):
        write_whole(tmp_path / "file" / "below" / "f.md", "text", "choose another --out")
    with pytest.raises(GhashgenError, match=r"file/below: Not a directory; choose another place"):
        make_folder(tmp_path / "file" / "below")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_where_no_room_is_left_the_old_file_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    path = tmp_path / "f.md"
    path.write_text("old")
    write = Path.write_bytes

    def full(path: Path, content: bytes) -> int:
        write(path, content[:1])
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(GhashgenError) as refusal:
        write_whole(path, "new")
    assert refusal.value.cause == f"{path}: {os.strerror(number)}"
    assert refusal.value.remedy.startswith("make room")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
