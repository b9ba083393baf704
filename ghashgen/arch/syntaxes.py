"""Finds the syntaxes: every module of this package that exports SYNTAX."""

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from ghashgen.arch.syntax import Syntax
from ghashgen.arch.x86_64 import syntax as package


def syntaxes() -> Mapping[str, Syntax]:
    """Return every syntax by name, sorted by name."""
    return _found(tuple(package.__path__))


@cache
def _found(path: tuple[str, ...]) -> Mapping[str, Syntax]:
    """Import the modules of the package, by the folders that it has now."""
    names = sorted(info.name for info in pkgutil.iter_modules(path))
    modules = [importlib.import_module(f"{package.__name__}.{name}") for name in names]
    found = [module.SYNTAX for module in modules if hasattr(module, "SYNTAX")]
    return MappingProxyType({syntax.name: syntax for syntax in found})
