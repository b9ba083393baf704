"""Finds the families of kernels: every package of this one whose module `family` exports FAMILY."""

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from ghashgen import kernels as package
from ghashgen.kernels.core import Family, Function, Point

DEFAULT = "hash"
"""The family that is meant where files and choices name none."""


def families() -> Mapping[str, Family[Any]]:
    """Return every family by name, sorted by name."""
    return _found(tuple(package.__path__))


@cache
def _found(path: tuple[str, ...]) -> Mapping[str, Family[Any]]:
    """Import the families, by the folders that the package has now."""
    names = sorted(info.name for info in pkgutil.iter_modules(path) if info.ispkg)
    modules = [importlib.import_module(f"{package.__name__}.{name}.family") for name in names]
    return MappingProxyType({module.FAMILY.name: module.FAMILY for module in modules})


def family_of(kernel: Point) -> Family[Any]:
    """Return the family of a kernel."""
    return families()[kernel.family]


def functions_of(kernel: Point) -> Mapping[str, Function[Any]]:
    """Return the functions that a kernel exports, by name, in the order they are emitted."""
    own = family_of(kernel).functions().values()
    return MappingProxyType({f.name: f for f in own if f.exported(kernel)})
