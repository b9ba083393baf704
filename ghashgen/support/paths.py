"""Where the project's files are, and where verbs write: in a clone, or installed from a wheel.

In a clone ``harness/``, ``templates/``, ``docs/`` and ``generated/`` are beside the package.
Kernels go to ``generated/``, and whatever may be deleted at any time to ``build/``.

A wheel carries the files that are read inside the package (``CARRIED``). Installed, kernels go to
``generated/`` of the working folder, and whatever may be deleted to the user's cache folder.

``CACHE`` can name another cache in both cases. The key that seals its content is in neither, but in
a folder for state. The harness is compiled by a C compiler, so these are files on disk, never
members of an archive.
"""

import os
from pathlib import Path

from ghashgen.support.errors import GhashgenError

CACHE = "GHASHGEN_CACHE"
"""The environment variable that names the folder for what may be deleted at any time."""

CARRIED = Path(__file__).resolve().parent.parent / "carried"
"""What ``support/carry.py`` puts into a wheel; a clone does not have it."""

GENERATED = "generated"
"""The name of the kernels' folder, in a clone and in the user's working folder."""

_NEEDED = ("harness", "templates")


def project_root() -> Path:
    """Return the folder that holds ``harness/``, ``templates/``, ``docs/`` and ``generated/``.

    Only read from it: installed, the last two hold only records, and nothing may be written.

    Raises:
        GhashgenError: the package was copied without these folders.
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
    """Return whether this is a clone of the repository rather than an installed package."""
    return not CARRIED.is_dir()


def require_clone(what: str) -> None:
    """Refuse to write or compare ``what``, a file of the repository, outside a clone.

    Raises:
        GhashgenError: the package is installed.
    """
    if not in_clone():
        raise GhashgenError(
            f"{what} belongs to the repository, and this ghashgen is installed in {CARRIED.parent}",
            "run it in a clone",
        )


def kernels_folder() -> Path:
    """Return the default folder of the kernels: the clone's, or one in the working folder."""
    return (project_root() if in_clone() else Path.cwd()) / GENERATED


def report_folder() -> Path:
    """Return the default folder of the report."""
    return project_root() / "build" / "report" if in_clone() else Path.cwd() / "report"


def cache_folder() -> Path:
    """Return the folder for what may be deleted at any time: objects, programs, verdicts, stores.

    Raises:
        GhashgenError: the user has no cache folder.
    """
    if named := os.environ.get(CACHE):
        return Path(named).absolute()
    if in_clone():
        return project_root() / "build"
    return _users("XDG_CACHE_HOME", ".cache", f"set {CACHE}")


def state_folder() -> Path:
    """Return the folder for what outlives the cache and belongs only to this user.

    Raises:
        GhashgenError: the user has no folder for state.
    """
    return _users("XDG_STATE_HOME", ".local/state", "set XDG_STATE_HOME")


def _users(variable: str, usual: str, remedy: str) -> Path:
    # The XDG specification says to ignore relative paths.
    base = Path(os.environ.get(variable, ""))
    if base.is_absolute():
        return base / "ghashgen"
    try:
        return Path.home() / usual / "ghashgen"
    except RuntimeError:
        what = usual.rpartition("/")[2].lstrip(".")
        raise GhashgenError(f"there is no home folder for a {what}", remedy) from None
