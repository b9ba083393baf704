"""Compiles and runs programs for an architecture: on this CPU, or in an emulator.

For another architecture than this CPU's, a cross compiler makes a program that needs no system
library, and qemu-user runs it. The results are that emulator's, and `how` says so.
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
"""The folder of harness/ for machines of an unknown architecture."""


@dataclass(frozen=True)
class Machine:
    """The tools that make and run programs of an architecture."""

    name: str
    """The architecture's name, or PORTABLE: a folder of harness/."""
    abis: Mapping[str, Abi]
    features: Mapping[str, str]
    """As `Arch.features`."""
    cc: Tool
    linked_as: tuple[str, ...]
    command: tuple[str, ...] = ()
    """What goes before a program's name."""
    how: str = NATIVE
    """native, or the emulator's name."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Generated headers that C includes: text by name."""
        return {HEADER: feature_table(self.features)}


def host() -> Arch | None:
    """Return the architecture of this machine, if it is known."""
    return next((a for a in arches().values() if platform.machine() in a.machines), None)


def machine_for(arch: Arch | None = None) -> Machine:
    """Return the tools that run programs of an architecture here; by default this machine's own.

    Raises:
        GhashgenError: the compiler or the emulator is missing, or there is none.
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
