"""Finds the studies: every module of `lab.compare.studies` exports one STUDY."""

from collections.abc import Mapping

from ghashgen.lab.compare import studies as package
from ghashgen.lab.compare.core import Study
from ghashgen.support.registry import found


def studies() -> Mapping[str, Study]:
    """Return every study by name, sorted by name."""
    return found(package, "STUDY")
