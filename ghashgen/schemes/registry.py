"""Finds the schemes: every module of `schemes.multiply` and `schemes.reduce` exports one SCHEME."""

import importlib
import pkgutil
from collections.abc import Mapping
from types import MappingProxyType, ModuleType

from ghashgen.schemes import multiply as multiply_package
from ghashgen.schemes import reduce as reduce_package
from ghashgen.schemes.core import Multiply, Reduce


def _modules(package: ModuleType) -> list[ModuleType]:
    names = sorted(info.name for info in pkgutil.iter_modules(package.__path__))
    return [importlib.import_module(f"{package.__name__}.{name}") for name in names]


def multiplies() -> Mapping[str, Multiply]:
    """Return every multiply scheme by name, sorted by name."""
    found = [module.SCHEME for module in _modules(multiply_package)]
    return MappingProxyType({scheme.name: scheme for scheme in found})


def reduces() -> Mapping[str, Reduce]:
    """Return every reduction by name, sorted by name."""
    found = [module.SCHEME for module in _modules(reduce_package)]
    return MappingProxyType({scheme.name: scheme for scheme in found})
