"""Writes files completely or not at all, and says why one could not be written.

Folders are made as needed.
"""

import errno
import os
from pathlib import Path

from ghashgen.support.errors import GhashgenError
from ghashgen.support.paths import CACHE, cache_folder

FULL = frozenset((errno.ENOSPC, errno.EDQUOT))
"""Errors that mean no space is left."""

DENIED = frozenset((errno.EACCES, errno.EPERM))
"""Errors that permissions explain."""

UNUSABLE = DENIED | {errno.EROFS, errno.ENAMETOOLONG, errno.ENOTDIR, errno.EISDIR, errno.ELOOP}
"""Errors that the caller's choice of a path explains."""


def require_file(path: Path, remedy: str) -> None:
    """Refuse a path that is no regular file; `remedy` says how to get one.

    Raises:
        GhashgenError: says why.
    """
    try:
        if path.is_file():
            return
        known = path.exists()
    except OSError as error:
        raise GhashgenError(f"{path}: {error.strerror}", remedy) from None
    raise GhashgenError(f"{path}: {'not a regular file' if known else 'no such file'}", remedy)


def unwritten(path: Path, error: OSError, remedy: str = "") -> GhashgenError:
    """Return the refusal for a file that could not be written, or read; `remedy` applies unless
    space is lacking.
    """
    # A failed write, unlike a failed open, does not name its file.
    where = path if error.filename is None else error.filename
    cached = path.is_relative_to(cache_folder())
    denied = "change its permissions" if error.errno in DENIED else "choose another place"
    usual = f"set {CACHE} to a folder that can be written" if cached else denied
    if error.errno in FULL:
        remedy = "make room, or choose another place; nothing was written"
    return GhashgenError(f"{where}: {error.strerror}", remedy or usual)


def make_folder(folder: Path, remedy: str = "") -> Path:
    """Make a folder and its missing parents, and return it.

    Raises:
        GhashgenError: it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritten(folder, error, remedy) from None
    return folder


def write_whole(path: Path, content: str | bytes, remedy: str = "") -> None:
    """Write a file, text as UTF-8, by replacing it at the end; make its folder.

    Raises:
        GhashgenError: it cannot be written; the old file is unchanged then.
    """
    make_folder(path.parent, remedy)
    # The process number keeps two writers of one file apart.
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        unfinished.write_bytes(content.encode() if isinstance(content, str) else content)
        unfinished.replace(path)
    except OSError as error:
        raise unwritten(path, error, remedy) from None
    finally:
        unfinished.unlink(missing_ok=True)
