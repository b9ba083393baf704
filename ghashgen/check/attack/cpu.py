"""Detects which features this CPU has, for code that comes without a list of features."""

from functools import cache
from pathlib import Path

from ghashgen.run.harness import build


@cache
def features_here(folder: Path) -> frozenset[str]:
    """Return which of FEATURES this CPU has; `folder` keeps the detecting program."""
    return frozenset(name for name, there in build([], folder).features().items() if there)
