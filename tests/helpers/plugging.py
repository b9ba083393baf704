"""Lets a package look into a folder of tests/toys."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

TOYS = Path(__file__).parents[1] / "toys"


def plugged(package: ModuleType, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the package look into a folder of toys, and forget them afterwards."""
    before = set(sys.modules)
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(folder)])
    yield
    for module in sys.modules.keys() - before:
        if module.startswith(f"{package.__name__}.toy_"):
            del sys.modules[module]
