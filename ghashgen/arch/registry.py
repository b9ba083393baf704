"""Finds the architectures, their instruction sets and syntaxes, and the tables of all cores.

Every folder of `ghashgen.arch` exports ARCH, an architecture. Inside it, every module of `sets`
exports ISA, an instruction set, and every module of `syntax` SYNTAX, a syntax.
"""

import importlib
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

import ghashgen.arch as package
from ghashgen.arch.core import Arch
from ghashgen.arch.rows import Isa
from ghashgen.arch.syntax import Syntax
from ghashgen.arch.uarch import Label, Uarch
from ghashgen.support.errors import GhashgenError
from ghashgen.support.lazy import Lazy
from ghashgen.support.registry import found
from ghashgen.support.wording import choose_one

DEFAULT = "x86_64"
"""The default architecture."""


def arches() -> Mapping[str, Arch]:
    """Return every architecture by name, sorted by name."""
    return found(package, "ARCH", folders=True)


def formats() -> tuple[str, ...]:
    """Return the names of every architecture's object formats, each once."""
    return tuple({name: 0 for arch in arches().values() for name in arch.formats})


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


@cache
def uarches() -> Mapping[str, Uarch]:
    """Return the table of every core by name, sorted by name; a table is read when asked for."""
    arch_of = {name: arch for arch in arches().values() for name in arch.uarches()}
    return Lazy(tuple(sorted(arch_of)), lambda name: arch_of[name].uarches()[name])


@cache
def labels() -> Mapping[str, Label]:
    """Return the label of every core's table by name, sorted by name."""
    found = {name: label for arch in arches().values() for name, label in arch.labels().items()}
    return MappingProxyType(dict(sorted(found.items())))


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
        own = found(importlib.import_module(f"{package.__name__}.{name}.{folder}"), export)
        if out.keys() & own.keys():
            raise ValueError(f"two architectures have {sorted(out.keys() & own.keys())[0]!r}")
        out |= own
    return MappingProxyType(out)
