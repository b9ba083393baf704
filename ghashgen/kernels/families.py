"""Finds the families of kernels, each a folder here whose module `family` exports FAMILY, and what
they bring to other rooms (`kernels.facets`).
"""

from collections.abc import Mapping
from dataclasses import fields, replace
from functools import cache
from types import MappingProxyType
from typing import Any

from ghashgen import kernels as package
from ghashgen.kernels.core import Family, Function, Point, Value
from ghashgen.kernels.facets import FACETS
from ghashgen.support.errors import GhashgenError
from ghashgen.support.registry import exported, found

DEFAULT = "hash"
"""The default family of files and choices."""

SHARED = ("aes", "bytes")
"""Folders that are parts of families, and none themselves."""


def families() -> Mapping[str, Family[Any]]:
    """Return every family by name, in the order of their folders.

    Raises:
        GhashgenError: a folder has no module `family`, or this exports no FAMILY.
    """
    return found(package, "FAMILY", besides=SHARED, folders=True, module="family")


def in_order() -> tuple[Family[Any], ...]:
    """Return every family in its place, the default one first."""
    return tuple(sorted(families().values(), key=lambda family: (family.order, family.name)))


def facet_of(family: str, facet: str) -> Any:
    """Return what a family brings.

    Raises:
        GhashgenError: it does not bring this facet, or its module lacks it.
    """
    facets, wanted = families()[family].facets, FACETS[facet]
    if unknown := facets.keys() - FACETS.keys():
        raise GhashgenError(
            f"family {family} brings {min(unknown)!r}, which no verb knows",
            f"the facets are {', '.join(FACETS)}",
        )
    if facet not in facets:
        raise GhashgenError(
            f"family {family} brings no {facet} ({wanted.content}), which {wanted.verb} needs",
            f"name its {'module' if wanted.export else 'value'} in the facets of its FAMILY",
        )
    named = facets[facet]
    if not wanted.export:
        return named
    try:
        return _exported(named, wanted.export)
    except GhashgenError as missing:
        raise GhashgenError(
            f"the {facet} of family {family}: {missing.cause}", missing.remedy
        ) from None


_exported = cache(exported)


def brought(facet: str) -> Mapping[str, Any]:
    """Return a facet of every family that brings it, by family, the default one first.

    Raises:
        GhashgenError: as `facet_of`.
    """
    having = (family.name for family in in_order() if facet in family.facets)
    return MappingProxyType({name: facet_of(name, facet) for name in having})


def family_of(kernel: Point) -> Family[Any]:
    """Return the family of a kernel."""
    return families()[kernel.family]


def loop_of(kernel: Point) -> str:
    """Return the function whose code has the loop over whole groups, or ""."""
    name = family_of(kernel).loop
    entered = functions_of(kernel)[name].enters(kernel) if name else None
    return entered[0] if entered else name


def functions_of(kernel: Point) -> Mapping[str, Function[Any]]:
    """Return the functions that a kernel exports, by name, in the order of emission."""
    own = family_of(kernel).functions().values()
    exported = (f for f in own if f.exported(kernel))
    return MappingProxyType({f.name: replace(f, **f.variant(kernel)) for f in exported})


def fields_of(kind: Any) -> tuple[str, ...]:
    """Return the names of the fields of a type of kernels, in order."""
    return tuple(field.name for field in fields(kind))


def axes_of(kernel: Point) -> dict[str, Value]:
    """Return the axes of a kernel by name, in the order of the fields of its type."""
    names = {axis.name for axis in family_of(kernel).axes if axis.mentioned(kernel)}
    return {name: getattr(kernel, name) for name in fields_of(type(kernel)) if name in names}


def own_name(kernel: Point) -> str:
    """Return a kernel's name if its axes do not give it, as for a paper's kernels; else ""."""
    derived: Point = family_of(kernel).make(**axes_of(kernel))
    return kernel.name if kernel.name != derived.name else ""
