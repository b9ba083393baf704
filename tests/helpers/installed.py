"""Programs that a test needs: without them it is skipped."""

import shutil

import pytest


def installed(*names: str) -> str:
    """Return the path of the first of some programs that is installed, or skip the test."""
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        pytest.skip(f"{' or '.join(names)} is not installed")
    return found


def need_programs(*names: str) -> None:
    """Skip the test unless all of some programs are installed."""
    for name in names:
        installed(name)
