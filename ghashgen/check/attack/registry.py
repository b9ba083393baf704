"""Finds the parts: every module of `attack.parts` exports one PART."""

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from ghashgen.check.attack import parts as package
from ghashgen.check.attack.core import Part


@cache
def parts() -> Mapping[str, Part]:
    """Return every part by name, sorted by name."""
    names = sorted(info.name for info in pkgutil.iter_modules(package.__path__))
    modules = [importlib.import_module(f"{package.__name__}.{name}") for name in names]
    return MappingProxyType({module.PART.name: module.PART for module in modules})
