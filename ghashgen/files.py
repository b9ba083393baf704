"""Writing files whole or not at all, and saying why one could not be written."""

import errno
import os
from pathlib import Path

from ghashgen.errors import GhashgenError

FULL = frozenset((errno.ENOSPC, errno.EDQUOT))
"""Errors that say that no room is left."""


def unwritten(path: Path, error: OSError, remedy: str) -> GhashgenError:
    """Return the refusal for a file that could not be written; `remedy` where space is not it."""
    # A write that fails, unlike an open, does not name its file.
    where = path if error.filename is None else error.filename
    if error.errno in FULL:
        remedy = "make room, or choose another place; nothing was written"
    return GhashgenError(f"{where}: {error.strerror}", remedy)


def write_whole(path: Path, text: str, remedy: str = "change its permissions") -> None:
    """Write a text beside its file, then put it in the file's place.

    Raises:
        GhashgenError: it cannot be written; the file is as it was then.
    """
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise unwritten(path, error, remedy) from None
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
