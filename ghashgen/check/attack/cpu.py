"""What the CPU at hand can run, for what is run on it without a kernel's own list of features."""

from functools import cache
from pathlib import Path

from ghashgen.run.harness import build


@cache
def features_here(folder: Path) -> frozenset[str]:
    """Return which of FEATURES this CPU has; `folder` keeps the program asked."""
    return frozenset(name for name, there in build([], folder).features().items() if there)
