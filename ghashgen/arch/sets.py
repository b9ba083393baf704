"""Finds the instruction sets: every module of this package that exports ISA."""

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from ghashgen.arch.rows import Isa
from ghashgen.arch.x86_64 import sets as package


def isas() -> Mapping[str, Isa]:
    """Return every instruction set by name, sorted by name."""
    return _found(tuple(package.__path__))


@cache
def _found(path: tuple[str, ...]) -> Mapping[str, Isa]:
    """Import the modules of the package, by the folders that it has now."""
    names = sorted(info.name for info in pkgutil.iter_modules(path))
    modules = [importlib.import_module(f"{package.__name__}.{name}") for name in names]
    found = {module.ISA.name: module.ISA for module in modules if hasattr(module, "ISA")}
    return MappingProxyType(found)
