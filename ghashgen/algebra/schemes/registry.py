"""Finds the schemes: every module of `algebra.schemes.multiply` and `reduce` exports one SCHEME."""

from collections.abc import Mapping

from ghashgen.algebra.schemes import multiply as multiply_package
from ghashgen.algebra.schemes import reduce as reduce_package
from ghashgen.algebra.schemes.core import Multiply, Reduce
from ghashgen.support.registry import found


def multiplies() -> Mapping[str, Multiply]:
    """Return every multiply scheme by name, sorted by name."""
    return found(multiply_package, "SCHEME")


def reduces() -> Mapping[str, Reduce]:
    """Return every reduction by name, sorted by name."""
    return found(reduce_package, "SCHEME")
