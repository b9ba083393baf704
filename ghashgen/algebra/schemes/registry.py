"""Finds the schemes: every module of `algebra.schemes.multiply` and `reduce` exports one SCHEME."""

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from ghashgen.algebra.schemes import multiply as multiply_package
from ghashgen.algebra.schemes import reduce as reduce_package
from ghashgen.algebra.schemes.core import Multiply, Reduce


@cache
def _found(package: str, path: tuple[str, ...]) -> Mapping[str, Any]:
    """Import the modules that a package's folders have now."""
    names = sorted(info.name for info in pkgutil.iter_modules(path))
    modules = [importlib.import_module(f"{package}.{name}") for name in names]
    return MappingProxyType({module.SCHEME.name: module.SCHEME for module in modules})


def multiplies() -> Mapping[str, Multiply]:
    """Return every multiply scheme by name, sorted by name."""
    return _found(multiply_package.__name__, tuple(multiply_package.__path__))


def reduces() -> Mapping[str, Reduce]:
    """Return every reduction by name, sorted by name."""
    return _found(reduce_package.__name__, tuple(reduce_package.__path__))
