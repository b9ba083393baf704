"""Finds the families of kernels: every package here with a module `family` that exports FAMILY."""

import importlib
import importlib.util
import pkgutil
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from types import MappingProxyType
from typing import Any

from ghashgen import kernels as package
from ghashgen.kernels.core import Family, Function, Point, Value

DEFAULT = "hash"
"""The default family of files and choices."""


def families() -> Mapping[str, Family[Any]]:
    """Return every family by name, sorted by name."""
    return _found(tuple(package.__path__))


@cache
def _found(path: tuple[str, ...]) -> Mapping[str, Family[Any]]:
    """Import the families that the package's folders have now."""
    folders = sorted(info.name for info in pkgutil.iter_modules(path) if info.ispkg)
    names = [f"{package.__name__}.{name}.family" for name in folders]
    modules = [importlib.import_module(name) for name in names if importlib.util.find_spec(name)]
    return MappingProxyType({module.FAMILY.name: module.FAMILY for module in modules})


def in_order() -> tuple[Family[Any], ...]:
    """Return every family, the default one first."""
    return tuple(sorted(families().values(), key=lambda each: (each.name != DEFAULT, each.name)))


def family_of(kernel: Point) -> Family[Any]:
    """Return the family of a kernel."""
    return families()[kernel.family]


def functions_of(kernel: Point) -> Mapping[str, Function[Any]]:
    """Return the functions that a kernel exports, by name, in the order of emission."""
    own = family_of(kernel).functions().values()
    return MappingProxyType({f.name: f for f in own if f.exported(kernel)})


def fields_of(kind: Any) -> tuple[str, ...]:
    """Return the names of the fields of a type of kernels, in order."""
    return tuple(field.name for field in fields(kind))


def axes_of(kernel: Point) -> dict[str, Value]:
    """Return the axes of a kernel by name, in the order of the fields of its type."""
    names = {axis.name for axis in family_of(kernel).axes}
    return {name: getattr(kernel, name) for name in fields_of(type(kernel)) if name in names}


def own_name(kernel: Point) -> str:
    """Return a kernel's name if its axes do not give it, as for a paper's kernels; else ""."""
    derived: Point = family_of(kernel).make(**axes_of(kernel))
    return kernel.name if kernel.name != derived.name else ""
