"""How programs for an architecture are compiled and run here: by this CPU, or by an emulator.

Where the CPU is of another architecture, a cross compiler makes a program that needs no library of
the system, and qemu-user runs it. What it shows is what that emulator does, and `how` says so.
"""

import platform
from collections.abc import Mapping
from dataclasses import dataclass

from ghashgen.arch.core import Abi, Arch
from ghashgen.arch.features import HEADER, feature_table
from ghashgen.arch.registry import arches
from ghashgen.support.errors import GhashgenError
from ghashgen.support.programs import ALONE, HERE
from ghashgen.support.toolchain import Tool, find_cc, find_cross_cc, find_emulator

NATIVE = "native"
PORTABLE = "portable"
"""The folder of harness/ for machines that are of no architecture here."""


@dataclass(frozen=True)
class Machine:
    """What makes and runs programs of an architecture."""

    name: str
    """The architecture's, or PORTABLE: a folder of harness/."""
    abis: Mapping[str, Abi]
    features: Mapping[str, str]
    """As `Arch.features`."""
    cc: Tool
    linked_as: tuple[str, ...]
    command: tuple[str, ...] = ()
    """What stands before a program's name."""
    how: str = NATIVE
    """native, or the emulator's name."""

    @property
    def headers(self) -> Mapping[str, str]:
        """What C for it includes and no file has: text by name."""
        return {HEADER: feature_table(self.features)}


def host() -> Arch | None:
    """Return the architecture of this machine, if it is one of those here."""
    return next((a for a in arches().values() if platform.machine() in a.machines), None)


def machine_for(arch: Arch | None = None) -> Machine:
    """Return what runs programs of an architecture here, of this machine's own if none is given.

    Raises:
        GhashgenError: the compiler or the emulator is missing, or there is none for it.
    """
    own = host()
    arch = arch or own
    if arch is None:
        return Machine(PORTABLE, {}, {}, find_cc(), HERE)
    if arch is own:
        return Machine(arch.name, arch.abis, arch.features, find_cc(), HERE)
    if not arch.emulator:
        raise GhashgenError(
            f"{arch.title} programs cannot be run on {platform.machine()}",
            f"use a machine that is {arch.title}",
        )
    command, cc = find_emulator(arch.emulator), find_cross_cc(arch.triple)
    name, how = arch.name, arch.emulator[0]
    return Machine(name, arch.abis, arch.features, cc, ALONE, command, how)
