"""What is kept is used again only as it was made here; a program that was exchanged is not run."""

import hashlib
import os
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ghashgen.run.harness import build
from ghashgen.support import programs
from ghashgen.support.errors import GhashgenError
from ghashgen.support.paths import state_folder
from ghashgen.support.programs import program
from ghashgen.support.sealed import KEY, KEY_BYTES, Seal, kept, seal_of, user_seal
from ghashgen.support.toolchain import Tool, find_cc

Edit = Callable[[Path], object]


@pytest.fixture(autouse=True)
def key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a key that is not there yet."""
    monkeypatch.setenv("XDG_STATE_HOME", os.fspath(tmp_path / "state"))
    return state_folder() / KEY


class Maker:
    """Makes a file of some bytes, and counts how often."""

    def __init__(self, path: Path, content: bytes = b"content") -> None:
        self.path, self.content, self.calls = path, content, 0

    def __call__(self) -> None:
        self.calls += 1
        self.path.write_bytes(self.content)

    def kept(self, made_from: str = "this", fresh: bool = False) -> int:
        """Return how often it has been made; the file must be right in any case."""
        assert kept(self.path, made_from, self, fresh) == self.path
        assert self.path.read_bytes() == self.content
        return self.calls


def test_a_seal_is_of_these_bytes_as_this_under_this_key() -> None:
    seal = Seal(b"k" * KEY_BYTES)
    mark = seal.of("this", b"content")
    assert seal.fits(mark, "this", b"content")
    assert not seal.fits(mark, "that", b"content")
    assert not seal.fits(mark, "this", b"content ")
    assert not seal.fits(mark, "thi", b"scontent")
    assert not seal.fits(mark[:-1], "this", b"content")
    assert not seal.fits(mark + b"\n", "this", b"content")
    assert not seal.fits(b"", "this", b"content")
    assert not seal.fits("ä".encode(), "this", b"content")
    assert not Seal(b"l" * KEY_BYTES).fits(mark, "this", b"content")


def test_without_a_key_nothing_fits_and_nothing_is_sealed() -> None:
    none = Seal(b"", "no place")
    said = len(b"this").to_bytes(8, "little") + b"thiscontent"
    for forged in (b"", hashlib.sha256(said).hexdigest().encode()):
        assert not none.fits(forged, "this", b"content")
    with pytest.raises(GhashgenError, match="no place"):
        none.of("this", b"content")


def test_the_key_is_made_once_and_for_its_user_alone(key: Path) -> None:
    first = user_seal()
    assert len(first.key) == KEY_BYTES
    assert first.key == key.read_bytes() == user_seal().key
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert list(key.parent.iterdir()) == [key]
    key.unlink()
    assert user_seal().key != first.key


def test_the_key_of_a_quicker_process_is_taken(key: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.link

    def late(source: str, target: Path) -> None:
        target.write_bytes(b"q" * KEY_BYTES)
        target.chmod(0o600)
        real(source, target)

    monkeypatch.setattr(os, "link", late)
    assert user_seal().key == b"q" * KEY_BYTES
    assert list(key.parent.iterdir()) == [key]


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda key: key.chmod(0o640), "is open to others"),
        (lambda key: key.chmod(0o602), "is open to others"),
        (lambda key: key.write_bytes(b"k" * 5), "is no key of 32 bytes"),
        (lambda key: key.write_bytes(b"k" * 33), "is no key of 32 bytes"),
        (lambda key: (key.unlink(), key.mkdir()), "cache.key: Is a directory"),
        (lambda key: (key.unlink(), key.parent.rmdir(), key.parent.touch()), "File exists"),
    ],
)
def test_a_key_that_is_none_leaves_nothing_believed(
    key: Path, tmp_path: Path, spoil: Edit, why: str
) -> None:
    make = Maker(tmp_path / "file")
    assert make.kept() == make.kept() == 1
    spoil(key)
    assert not user_seal().key
    assert why in user_seal().why
    assert "\n" not in user_seal().why
    assert make.kept() == 2
    assert make.kept() == 3


def test_a_home_that_is_not_known_leaves_nothing_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_STATE_HOME")

    def unknown() -> Path:
        raise RuntimeError

    monkeypatch.setattr(Path, "home", unknown)
    assert user_seal() == Seal(b"", "there is no home folder for a state; set XDG_STATE_HOME")
    make = Maker(tmp_path / "file")
    assert (make.kept(), make.kept()) == (1, 2)
    assert not seal_of(make.path).exists()


EDITS: dict[str, Edit] = {
    "edited": lambda path: path.write_bytes(b"Content"),
    "cut short": lambda path: path.write_bytes(b"conten"),
    "emptied": lambda path: path.write_bytes(b""),
    "gone": lambda path: path.unlink(),
    "exchanged, with its seal": lambda path: [
        new.write_bytes(old.read_bytes())
        for old, new in (
            (path.with_name("other"), path),
            (seal_of(path.with_name("other")), seal_of(path)),
        )
    ],
    "seal gone": lambda path: seal_of(path).unlink(),
    "seal cut short": lambda path: seal_of(path).write_bytes(seal_of(path).read_bytes()[:-1]),
    "sealed by a hash": lambda path: seal_of(path).write_text(
        hashlib.sha256(path.read_bytes()).hexdigest()
    ),
    "sealed by another": lambda path: seal_of(path).write_bytes(
        Seal(b"k" * KEY_BYTES).of("this", path.read_bytes())
    ),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS.keys())
def test_what_is_not_as_it_was_made_is_made_again(tmp_path: Path, edit: Edit) -> None:
    make, other = Maker(tmp_path / "file"), Maker(tmp_path / "other", b"another")
    assert (make.kept(), make.kept(), other.kept("that")) == (1, 1, 1)
    edit(make.path)
    assert make.kept() == 2
    assert make.kept() == 2


def test_a_file_of_something_else_or_wanted_anew_is_made_again(tmp_path: Path) -> None:
    make = Maker(tmp_path / "file")
    assert make.kept() == 1
    assert make.kept("that") == 2
    assert make.kept("that", fresh=True) == 3
    assert make.kept("that") == 3


def test_a_program_that_was_exchanged_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By another program, or by an object that would be linked into it."""
    made: list[str] = []
    for name in ("compile_c", "link"):
        real = getattr(programs, name)

        def counted(cc: Tool, what: Any, out: Path, *, real: Any = real, **options: object) -> None:
            made.append(out.name)
            real(cc, what, out, **options)

        monkeypatch.setattr(programs, name, counted)
    folder = tmp_path / "out"
    folder.mkdir()
    source = folder / "small.c"
    source.write_text("int main(void) { return 7; }\n")
    cc = find_cc()

    def result() -> Path:
        return program(cc, "small", [source], [], folder)

    exe = result()
    right = exe.read_bytes()
    obj = next(folder.glob("*.o"))
    assert made == [obj.name, exe.name]
    assert result() == exe
    assert len(made) == 2
    exe.write_bytes(Path("/bin/true").read_bytes())
    assert result().read_bytes() == right
    assert made[2:] == [exe.name]
    obj.write_bytes(obj.read_bytes()[:-1])
    assert result().read_bytes() == right
    assert made[3:] == [obj.name]


def test_the_harness_is_kept_with_a_seal_for_every_file(tmp_path: Path) -> None:
    harness = build([], tmp_path / "harness")
    made = [p for p in harness.program.parent.iterdir() if p.is_file() and p.suffix in ("", ".o")]
    assert harness.program in made
    assert len(made) > 5
    assert all(seal_of(path).exists() for path in made)


def test_many_that_begin_at_once_share_one_key(key: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        found = {seal.key for seal in pool.map(lambda _: user_seal(), range(64))}
    assert found == {key.read_bytes()}
    assert list(key.parent.iterdir()) == [key]
