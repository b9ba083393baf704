"""CPUs by CPUID: the core's name, its features, and the uarch table that describes it.

The table is `cores.toml`, beside this file.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct

from ghashgen.support.documents import Document

VENDORS = MappingProxyType({"GenuineIntel": "intel", "AuthenticAMD": "amd"})
"""Vendors by the string of CPUID leaf 0."""

_PLACE = re.compile(r"cpu family (\d+), model (\d+)(?:, stepping (\d+))?")


@dataclass(frozen=True)
class Core:
    """A kind of core: family, models and steppings as Linux prints them."""

    title: str
    family: int
    models: range
    steppings: range = range(16)
    uarch: str = ""
    """The table in ghashgen/uarch that describes it, or ""."""
    vendor: str = ""
    features: frozenset[str] = frozenset()
    """Those of its CPU features that distinguish kernels."""
    names: tuple[str, ...] = ()
    """Other names."""


class _Row(Struct, frozen=True, forbid_unknown_fields=True):
    """A core in the file, with all its models."""

    title: str
    vendor: str
    family: int
    models: tuple[tuple[int, int], ...]
    names: tuple[str, ...] = ()
    steppings: tuple[int, int] = (0, 15)
    like: str = ""
    adds: tuple[str, ...] = ()
    uarch: str = ""


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    sources: dict[str, str]
    core: tuple[_Row, ...]


_FILE = Document(_File, "is no table of cores", "restore it, or install ghashgen again")


def _cores(path: Path) -> Iterator[Core]:
    """Yield the cores of a table, one for each range of models."""
    features: dict[str, frozenset[str]] = {}
    for row in _FILE.read(path).core:
        if row.like and row.like not in features:
            raise _FILE.refuse(path, f"{row.title} is like {row.like!r}, which is no core above it")
        own = features[row.title] = features.get(row.like, frozenset()) | set(row.adds)
        first, last = row.steppings
        for lowest, highest in row.models:
            yield Core(
                row.title,
                row.family,
                range(lowest, highest + 1),
                range(first, last + 1),
                row.uarch,
                row.vendor,
                own,
                row.names,
            )


CORES = tuple(_cores(Path(__file__).with_name("cores.toml")))
"""Cores by CPUID; the first that fits a CPU is its core."""


@cache
def core_of(cpu: str) -> Core | None:
    """Return the core of a CPU's description ("…cpu family 6, model 85, stepping 7…"), if known."""
    found = _PLACE.search(cpu)
    if found is None:
        return None
    family, model, stepping = (int(part or 0) for part in found.groups())
    return next(
        (c for c in CORES if c.family == family and model in c.models and stepping in c.steppings),
        None,
    )


def lacking(cpu: str, features: Iterable[str]) -> tuple[str, ...]:
    """Return what a machine with these features lacks of its core's, as a hypervisor may hide some.

    Nothing where the core is not known, or no feature is: the machine did not say.
    """
    core, has = core_of(cpu), frozenset(features)
    return tuple(sorted(core.features - has)) if core and has else ()


def title_of(cpu: str, features: Iterable[str] = ()) -> str:
    """Return the core's name where it is known, else the CPU's own words.

    With the features of a machine, the name says what it lacks of the core: "Zen 4 without
    AVX-512". Where it lacks AVX-512, nothing else is named.
    """
    core = core_of(cpu)
    return f"{core.title if core else cpu}{_without(cpu, features)}"


def _without(cpu: str, features: Iterable[str]) -> str:
    lacks = lacking(cpu, features)
    names = "AVX-512" if "avx512f" in lacks else ", ".join(lacks).upper()
    return f" without {names}" if names else ""


def slug_of(cpu: str, vendor: str, features: Iterable[str] = ()) -> str:
    """Return the name of a CPU's records: vendor, family, model, stepping, and what it lacks.

    A machine that hides features of its core, as a hypervisor may, has records of its own:
    intel-6-85-7, but amd-25-17-1-without-avx-512.
    """
    found = _PLACE.search(cpu)
    place = "-".join(part or "0" for part in found.groups()) if found else "unknown"
    known = VENDORS.get(vendor, _plain(vendor).strip("-")) or "cpu"
    return f"{known}-{place}{_plain(_without(cpu, features)).rstrip('-')}"


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower())
