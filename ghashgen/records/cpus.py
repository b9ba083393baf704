"""CPUs by what CPUID says of them: the core's name, and the uarch whose table describes it."""

import re
from dataclasses import dataclass
from types import MappingProxyType

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
    """The table in ghashgen/uarch that describes it; "" where there is none."""


def _one(model: int) -> range:
    return range(model, model + 1)


CORES = (
    Core("Skylake server", 6, _one(85), range(5), uarch="skylake-avx512"),
    Core("Cascade Lake", 6, _one(85), range(5, 8), uarch="skylake-avx512"),
    Core("Cooper Lake", 6, _one(85), range(10, 12), uarch="skylake-avx512"),
    Core("Ice Lake server", 6, _one(106), uarch="icelake-server"),
    Core("Ice Lake server", 6, _one(108), uarch="icelake-server"),
    Core("Sapphire Rapids", 6, _one(143), uarch="sapphirerapids"),
    Core("Emerald Rapids", 6, _one(207), uarch="sapphirerapids"),
    Core("Zen 3", 25, range(0x10)),
    Core("Zen 4", 25, range(0x10, 0x20), uarch="zen4"),
    Core("Zen 3", 25, range(0x20, 0x60)),
    Core("Zen 4", 25, range(0x60, 0x80), uarch="zen4"),
    Core("Zen 4", 25, range(0xA0, 0xB0), uarch="zen4"),
    Core("Zen 5", 26, range(0x20), uarch="zen5"),
    Core("Zen 5", 26, range(0x20, 0x80)),
)
"""Cores by CPUID. Sources: Linux, arch/x86/include/asm/intel-family.h and arch/x86/kernel/cpu/amd.c
(ranges of models), Intel's specification updates (steppings of model 85). Zen 5's table is of the
servers' core, models below 0x20: some of the others have vector pipes of 256 bits."""


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


def title_of(cpu: str) -> str:
    """Return the core's name where it is known, else the CPU's own words."""
    core = core_of(cpu)
    return core.title if core else cpu


def slug_of(cpu: str, vendor: str) -> str:
    """Return the name of a CPU's records, such as intel-6-85-7: vendor, family, model, stepping."""
    found = _PLACE.search(cpu)
    place = "-".join(part or "0" for part in found.groups()) if found else "unknown"
    plain = re.sub(r"[^a-z0-9]+", "-", vendor.lower()).strip("-")
    return f"{VENDORS.get(vendor, plain) or 'cpu'}-{place}"
