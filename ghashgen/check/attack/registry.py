"""Finds the parts: every module of `attack.parts` exports one PART."""

from collections.abc import Mapping

from ghashgen.check.attack import parts as package
from ghashgen.check.attack.core import Part
from ghashgen.support.registry import found


def parts() -> Mapping[str, Part]:
    """Return every part by name, sorted by name."""
    return found(package, "PART")
