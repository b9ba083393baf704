"""Finds the studies: every module of `lab.compare.studies` exports one STUDY."""

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from ghashgen.lab.compare import studies as package
from ghashgen.lab.compare.core import Study


@cache
def studies() -> Mapping[str, Study]:
    """Return every study by name, sorted by name."""
    names = sorted(info.name for info in pkgutil.iter_modules(package.__path__))
    modules = [importlib.import_module(f"{package.__name__}.{name}") for name in names]
    return MappingProxyType({module.STUDY.name: module.STUDY for module in modules})
