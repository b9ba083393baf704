"""Cached files are used again only if this user's ghashgen sealed them.

A seal is an HMAC-SHA256 of what a file is, what it was made from, and its bytes. The key is 32
random bytes, made at first use, outside the cache and readable only by its user. So a file that was
truncated, edited, replaced or copied from another machine is made again. The same holds for
anything put there by someone who can write to the cache but cannot read the key. Someone who can
read the key can also change this program; no seal helps against that.

If no key can be kept, nothing in the cache is trusted and everything is made each time.
"""

import hmac
import os
import secrets
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from ghashgen.support.errors import GhashgenError
from ghashgen.support.files import write_whole
from ghashgen.support.paths import state_folder

KEY_BYTES = 32

KEY = "cache.key"
"""The key's file name in the folder for state."""

SUFFIX = ".seal"
"""Appended to a file's name for the file with its seal."""


@dataclass(frozen=True)
class Seal:
    """The key that seals files."""

    key: bytes = field(repr=False)
    """Empty if there is none; then no seal fits."""
    why: str = ""
    """Why there is no key."""

    def of(self, what: str, content: bytes) -> bytes:
        """Return the seal of some bytes, in hexadecimal; `what` says what they are, and made from
        what.

        Raises:
            GhashgenError: there is no key.
        """
        if not self.key:
            raise GhashgenError(f"nothing can be sealed: {self.why}")
        said = what.encode()
        message = len(said).to_bytes(8, "little") + said + content
        return hmac.new(self.key, message, "sha256").hexdigest().encode()

    def fits(self, seal: bytes, what: str, content: bytes) -> bool:
        """Return whether this key sealed these bytes as `what`."""
        return bool(self.key) and hmac.compare_digest(seal, self.of(what, content))


def user_seal() -> Seal:
    """Return this user's seal; make a key if there is none yet."""
    try:
        path = state_folder() / KEY
        if not path.exists():
            _make_key(path)
        return _read_key(path)
    except GhashgenError as refusal:
        return Seal(b"", str(refusal))
    except OSError as error:
        return Seal(b"", f"{error.filename or KEY}: {error.strerror}")


def _read_key(path: Path) -> Seal:
    with path.open("rb") as file:
        about = os.fstat(file.fileno())
        key = file.read(KEY_BYTES + 1)
    if about.st_uid != os.geteuid() or stat.S_IMODE(about.st_mode) & 0o077:
        return Seal(b"", f"{path} is open to others: delete it, and another key is made")
    if len(key) != KEY_BYTES:
        return Seal(b"", f"{path} is no key of {KEY_BYTES} bytes: delete it, and another is made")
    return Seal(key)


def _make_key(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # Its mode is 0600 from the start.
    descriptor, unfinished = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(KEY_BYTES))
        # Unlike a rename, this keeps the key of another process or thread that was faster.
        with suppress(FileExistsError):
            os.link(unfinished, path)
    finally:
        Path(unfinished).unlink()


def kept(path: Path, made_from: str, make: Callable[[], None], fresh: bool = False) -> Path:
    """Return a file as `make` writes it: the existing one if its seal fits, else a new one.

    `made_from` says what it is and what it is made from; `fresh` always makes it.

    Raises:
        GhashgenError: it cannot be written, or `make` refuses.
    """
    seal, beside = user_seal(), seal_of(path)
    if not fresh and seal.key:
        try:
            if seal.fits(beside.read_bytes(), made_from, path.read_bytes()):
                return path
        except OSError:
            pass  # missing or unreadable: make it again
    make()
    if seal.key:
        write_whole(beside, seal.of(made_from, path.read_bytes()))
    return path


def seal_of(path: Path) -> Path:
    """Return the file with another file's seal."""
    return path.with_name(path.name + SUFFIX)
