"""Writes the files of a folder: all of them or none.

Each file is written beside its place. When all are complete, they are moved with signals held back.
"""

import os
import signal
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from ghashgen.support.errors import GhashgenError
from ghashgen.support.files import DENIED, unwritten


def require_writable(folder: Path, option: str) -> None:
    """Refuse a folder that cannot be written or made; `option` is the option that named it.

    Raises:
        GhashgenError: says why.
    """
    place = folder
    try:
        while not place.exists():
            place = place.parent
    except OSError as error:
        # For example, the name is too long.
        raise GhashgenError(f"{place}: {error.strerror}", f"choose another {option}") from None
    if not place.is_dir():
        raise GhashgenError(f"{place} is not a folder", f"choose another {option}")
    if not os.access(place, os.W_OK | os.X_OK):
        raise GhashgenError(
            f"{place} is not writable", f"change its permissions or choose another {option}"
        )
    try:
        # Some file systems, such as /proc, claim to be writable and are not.
        tempfile.TemporaryFile(dir=place).close()
    except OSError as error:
        raise GhashgenError(
            f"{place} accepts no new file: {error.strerror}", f"choose another {option}"
        ) from None


def require_no_folders(folder: Path, names: Iterable[str]) -> None:
    """Refuse folders in places where files are to be written.

    Raises:
        GhashgenError: names the first.
    """
    for name in names:
        if (folder / name).is_dir():
            raise GhashgenError(f"{folder / name} is a folder", "move it away")


def write(folder: Path, files: Mapping[str, str], stale: Iterable[str], option: str) -> None:
    """Write files, by path below a folder, in order, and remove stale ones.

    Raises:
        GhashgenError: a file cannot be written; the folder is unchanged then.
    """
    pending: list[tuple[Path, Path]] = []
    made: list[Path] = []
    path = folder
    try:
        for name, text in files.items():
            path = folder / name
            _make_folder(path.parent, made)
            unfinished = path.with_name(f".{path.name}.new")
            pending.append((unfinished, path))
            unfinished.write_text(text, encoding="utf-8")
    except BaseException as error:
        for unfinished, _ in pending:
            with suppress(OSError):
                unfinished.unlink(missing_ok=True)
        for new in reversed(made):
            with suppress(OSError):
                new.rmdir()
        if isinstance(error, OSError):
            denied = "change its permissions or " if error.errno in DENIED else ""
            remedy = f"{denied}choose another {option}"
            raise unwritten(path, error, remedy) from None
        raise
    with uninterrupted():
        for unfinished, path in pending:
            unfinished.replace(path)
        for name in stale:
            (folder / name).unlink(missing_ok=True)


def _make_folder(folder: Path, made: list[Path]) -> None:
    """Make a folder and its parents; add the new ones to `made`."""
    if folder.is_dir():
        return
    _make_folder(folder.parent, made)
    folder.mkdir()
    made.append(folder)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold back termination signals, so that a folder never mixes two versions."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
