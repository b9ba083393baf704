"""The kinds of CPU that a choice tells apart: each with a record, and the rest of each vendor."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ghashgen.records.cpus import CORES, VENDORS, Core, core_of
from ghashgen.records.records import Record


@dataclass(frozen=True)
class Host:
    """A kind of CPU."""

    title: str
    vendor: str
    """intel, amd, or "" for any other."""
    cores: tuple[Core, ...] = ()
    """How CPUID identifies it; empty for every CPU of the vendor that no other host covers."""
    features: frozenset[str] = frozenset()
    """Its features; empty if unknown."""


def record_features(record: Record) -> frozenset[str]:
    """Return the CPU features of a record's machine, or its core's if the record does not say."""
    machine = record.results.machine
    if machine.features:
        return frozenset(machine.features)
    core = core_of(machine.cpu)
    return core.features if core else frozenset()


def vendor_of(record: Record) -> str:
    """Return the vendor in a record's name: intel, amd, or another word."""
    return record.slug.partition("-")[0]


def hosts(records: Sequence[Record]) -> tuple[Host, ...]:
    """Return the kinds of CPU: recorded cores by title, then the rest of each vendor.

    A core without a record counts as a recorded one if both share a table in ghashgen/uarch.
    """
    recorded: dict[str, Record] = {}
    for record in records:
        recorded.setdefault(record.core, record)
    found = []
    for title, record in sorted(recorded.items()):
        own = core_of(record.results.machine.cpu)
        if own is None:
            continue
        alike = [
            core
            for core in CORES
            if core.title == title
            or (own.uarch and core.uarch == own.uarch and core.title not in recorded)
        ]
        # The machine that was measured may have lacked some of what the core has.
        has = own.features | record_features(record)
        found.append(Host(title, vendor_of(record), tuple(alike), has))
    return (
        *found,
        *(Host(f"other {name}", vendor) for vendor, name in (("intel", "Intel"), ("amd", "AMD"))),
        Host("other", ""),
    )


def host_of(known: Iterable[Host], cpu: str, vendor: str) -> Host:
    """Return the host of a CPU; `cpu` is text as from `records.machine.cpu_model`."""
    core, known = core_of(cpu), tuple(known)
    named = [h for h in known if core in h.cores and h.vendor == vendor]
    same = [h for h in known if not h.cores and h.vendor == vendor]
    return (named or same or [known[-1]])[0]


def nearest(
    host: Host,
    level: frozenset[str],
    records: Sequence[Record],
    level_of: Mapping[str, frozenset[str]],
) -> list[Record]:
    """Return the records whose order applies to a host on a level, the nearest first.

    The host's own; then those of CPUs that can run the same kernels, then of CPUs that can run
    these and more; the host's vendor first in either. `level_of` has the level of each record's
    CPU by slug. Records of CPUs that lack something of the level are left out, the host's own too,
    since they say nothing of the kernels that need it.
    """
    can = {r.slug: level_of.get(r.slug, frozenset()) for r in records}
    fitting = [r for r in records if level <= can[r.slug]]
    return sorted(
        fitting,
        key=lambda r: (
            r.core != host.title,
            can[r.slug] != level,
            vendor_of(r) != host.vendor,
            r.slug,
        ),
    )


VENDOR_STRINGS = {short: words for words, short in VENDORS.items()}
"""The string of CPUID leaf 0 by vendor."""
