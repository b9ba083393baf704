"""Finds the architectures, their instruction sets and syntaxes, and the tables of all cores.

A package of `ghashgen.arch` that exports ARCH is an architecture. Inside it, every module of `sets`
that exports ISA is an instruction set, and every module of `syntax` that exports SYNTAX a syntax.
"""

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import ghashgen.arch as package
from ghashgen.arch.core import Arch
from ghashgen.arch.rows import Isa
from ghashgen.arch.syntax import Syntax
from ghashgen.arch.uarch import Uarch
from ghashgen.support.errors import GhashgenError
from ghashgen.support.wording import choose_one

DEFAULT = "x86_64"
"""The default architecture."""


def arches() -> Mapping[str, Arch]:
    """Return every architecture by name, sorted by name."""
    return _found(package.__name__, tuple(package.__path__), "ARCH", packages=True)


def isas(arch: str = "") -> Mapping[str, Isa]:
    """Return every instruction set by name, or those of one architecture.

    They are sorted by architecture, then by name.

    Raises:
        ValueError: two of them have the same name.
    """
    return _joined("sets", "ISA", arch)


def syntaxes(arch: str = "") -> Mapping[str, Syntax]:
    """Return an architecture's syntaxes by name; by default those of the default one."""
    return _joined("syntax", "SYNTAX", arch or DEFAULT)


def folder_of(arch: str) -> Path:
    """Return the folder of an architecture's package."""
    return Path(package.__path__[0]) / arch


@cache
def uarches() -> Mapping[str, Uarch]:
    """Return the table of every core by name, sorted by name."""
    tables = {name: table for arch in arches().values() for name, table in arch.uarches().items()}
    return MappingProxyType(dict(sorted(tables.items())))


def uarch(name: str) -> Uarch:
    """Return the table of a core, by its name or an alias.

    Raises:
        GhashgenError: the name is unknown.
    """
    for table in uarches().values():
        if name in (table.name, table.llvm, *table.aliases):
            return table
    raise GhashgenError(f"no table for {name!r}", choose_one(name, uarches()))


def _joined(folder: str, export: str, arch: str) -> Mapping[str, Any]:
    out: dict[str, Any] = {}
    for name in (arch,) if arch else arches():
        module = importlib.import_module(f"{package.__name__}.{name}.{folder}")
        found = _found(module.__name__, tuple(module.__path__), export)
        if out.keys() & found.keys():
            raise ValueError(f"two architectures have {sorted(out.keys() & found.keys())[0]!r}")
        out |= found
    return MappingProxyType(out)


@cache
def _found(
    name: str, path: tuple[str, ...], export: str, packages: bool = False
) -> Mapping[str, Any]:
    """Return what the modules that a package's folders have now export by this name.

    With `packages`, only modules that are packages are imported.
    """
    found_in = pkgutil.iter_modules(path)
    names = sorted(info.name for info in found_in if info.ispkg or not packages)
    modules = [importlib.import_module(f"{name}.{each}") for each in names]
    found = [getattr(module, export) for module in modules if hasattr(module, export)]
    return MappingProxyType({value.name: value for value in found})
