"""The CPUs that a choice tells apart: those with a record, and all others by their vendor."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ghashgen.records.cpus import CORES, VENDORS, Core, core_of
from ghashgen.records.records import Record


@dataclass(frozen=True)
class Host:
    """A kind of CPU."""

    title: str
    vendor: str
    """intel, amd, or empty for any other."""
    cores: tuple[Core, ...] = ()
    """What CPUID says of it; empty for every CPU of the vendor that no other host names."""
    features: frozenset[str] = frozenset()
    """What it has; empty where that is not known."""


def record_features(record: Record) -> frozenset[str]:
    """Return the CPU features of a record's machine; its core's where the record does not say."""
    machine = record.results.machine
    if machine.features:
        return frozenset(machine.features)
    core = core_of(machine.cpu)
    return core.features if core else frozenset()


def vendor_of(record: Record) -> str:
    """Return the vendor in a record's name: intel, amd, or another word."""
    return record.slug.partition("-")[0]


def hosts(records: Sequence[Record]) -> tuple[Host, ...]:
    """Return the CPUs to tell apart: recorded cores by title, then the rest of each vendor.

    Cores that share a table in ghashgen/uarch with a recorded one, and have no record themselves,
    count as it.
    """
    titles: dict[str, Record] = {}
    for record in records:
        titles.setdefault(record.title, record)
    found = []
    for title, record in sorted(titles.items()):
        own = core_of(record.results.machine.cpu)
        if own is None:
            continue
        alike = [
            core
            for core in CORES
            if core.title == title
            or (own.uarch and core.uarch == own.uarch and core.title not in titles)
        ]
        found.append(Host(title, vendor_of(record), tuple(alike), record_features(record)))
    return (
        *found,
        *(Host(f"other {name}", vendor) for vendor, name in (("intel", "Intel"), ("amd", "AMD"))),
        Host("other", ""),
    )


def host_of(known: Iterable[Host], cpu: str, vendor: str) -> Host:
    """Return the host of a CPU: `cpu` as `records.machine.cpu_model` words it."""
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
    """Return the records whose order serves a host on a level, the nearest first.

    The host's own, whatever is masked; then those of CPUs that can run the same kernels, then of
    CPUs that can run these and more; the host's vendor first in either. `level_of` has the level
    of each record's CPU by slug. Records of CPUs that lack something of the level are left out,
    since they say nothing of the kernels that need it.
    """
    can = {r.slug: level_of.get(r.slug, frozenset()) for r in records}
    fitting = [r for r in records if r.title == host.title or level <= can[r.slug]]
    return sorted(
        fitting,
        key=lambda r: (
            r.title != host.title,
            can[r.slug] != level,
            vendor_of(r) != host.vendor,
            r.slug,
        ),
    )


VENDOR_STRINGS = {short: words for words, short in VENDORS.items()}
"""The string of CPUID leaf 0 by vendor."""
