"""Where the project's files lie, and where verbs write: in a clone, or installed from a wheel.

In a clone ``harness/``, ``templates/``, ``docs/`` and ``generated/`` lie beside the package.
Kernels go to ``generated/``, and what may be deleted at any time to ``build/``. A wheel carries
what is read of them inside the package (``CARRIED``). There, kernels go to ``generated/`` of the
working folder, and what may be deleted to a cache folder of the user. ``CACHE`` names another one
in both cases. The key that seals what is kept there lies in neither, but in a folder for state.

The harness is compiled by a C compiler, so these are files on disk, never members of an archive.
"""

from __future__ import annotations

import os
from pathlib import Path

from ghashgen.support.errors import GhashgenError

CACHE = "GHASHGEN_CACHE"
"""The environment variable that names the folder for what may be deleted at any time."""

CARRIED = Path(__file__).resolve().parent.parent / "carried"
"""What ``support/carry.py`` puts into a wheel; a clone does not have it."""

GENERATED = "generated"
"""The folder of the kernels, in a clone and where the user works."""

_NEEDED = ("harness", "templates")


def project_root() -> Path:
    """Return the folder that holds ``harness/``, ``templates/``, ``docs/`` and ``generated/``.

    To read from: installed, it holds the records alone of the last two, and nothing may be written.

    Raises:
        GhashgenError: the package was copied without them.
    """
    root = CARRIED if CARRIED.is_dir() else CARRIED.parent.parent
    missing = [name for name in _NEEDED if not (root / name).is_dir()]
    if missing:
        raise GhashgenError(
            f"no folder {' or '.join(missing)} in {root}",
            "install ghashgen with pip, from its repository or from a wheel",
        )
    return root


def in_clone() -> bool:
    """Whether this is a clone of the repository, rather than an installed package."""
    return not CARRIED.is_dir()


def require_clone(what: str) -> None:
    """Refuse to write or compare ``what``, a file of the repository, where there is no clone.

    Raises:
        GhashgenError: the package is installed.
    """
    if not in_clone():
        raise GhashgenError(
            f"{what} is a file of the repository, and this ghashgen is installed in "
            f"{CARRIED.parent}",
            "run it in a clone",
        )


def kernels_folder() -> Path:
    """Return the folder of the kernels where no other is named: that of the clone, or a new one."""
    return (project_root() if in_clone() else Path.cwd()) / GENERATED


def report_folder() -> Path:
    """Return the folder of the report where no other is named."""
    return project_root() / "build" / "report" if in_clone() else Path.cwd() / "report"


def cache_folder() -> Path:
    """Return the folder for what may be deleted at any time: objects, programs, verdicts, stores.

    Raises:
        GhashgenError: nothing says where the user's cache is.
    """
    if named := os.environ.get(CACHE):
        return Path(named).absolute()
    if in_clone():
        return project_root() / "build"
    return _users("XDG_CACHE_HOME", ".cache", f"set {CACHE}")


def state_folder() -> Path:
    """Return the folder for what outlives the cache and belongs to this user alone.

    Raises:
        GhashgenError: nothing says where the user's state is.
    """
    return _users("XDG_STATE_HOME", ".local/state", "set XDG_STATE_HOME")


def _users(variable: str, usual: str, remedy: str) -> Path:
    # The XDG specification has relative paths ignored.
    base = Path(os.environ.get(variable, ""))
    if base.is_absolute():
        return base / "ghashgen"
    try:
        return Path.home() / usual / "ghashgen"
    except RuntimeError:
        what = usual.rpartition("/")[2].lstrip(".")
        raise GhashgenError(f"there is no home folder for a {what}", remedy) from None
