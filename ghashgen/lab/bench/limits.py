"""The limits of a measurement; requests beyond them are refused before anything is built."""

import os
from collections.abc import Iterable, Sequence

from ghashgen.arch.registry import DEFAULT
from ghashgen.kernels.core import Point
from ghashgen.records.core import EDGE_LARGEST, sizes_of
from ghashgen.support.errors import GhashgenError

LARGEST = 1 << 28
"""The longest message in bytes; the same as in harness/bench/plan.h."""


def refuse_sizes(sizes: Sequence[int]) -> None:
    """Refuse invalid message sizes.

    Raises:
        GhashgenError: one is below 1 byte or above 256 MiB.
    """
    for size in sizes:
        if not 1 <= size <= LARGEST:
            raise GhashgenError(
                f"sizes must be 1 byte to 256 MiB, not {size}", "choose --sizes in that range"
            )


def refuse_architecture(kernels: Iterable[Point]) -> None:
    """Refuse kernels of an architecture that is not measured.

    Raises:
        GhashgenError: names the first such kernel.
    """
    for kernel in kernels:
        isa = kernel.instruction_set
        if isa.arch.name != DEFAULT:
            raise GhashgenError(
                f"{kernel.name} is for {isa.arch.title}, and only x86-64 kernels are measured",
                f"choose another --isa; to run it, ghashgen validate --isa {isa.name}",
            )


def refuse_core(core: int) -> None:
    """Refuse a core that this process may not use; -1 means the last one that it may.

    Raises:
        GhashgenError: the core does not exist or is not allowed.
    """
    if core == -1 or not hasattr(os, "sched_getaffinity"):
        return
    allowed = sorted(os.sched_getaffinity(0))
    if core not in allowed:
        names = ", ".join(map(str, allowed))
        raise GhashgenError(
            f"no core {core}: this process may run on {names}", "choose --core among these, or none"
        )


def unmeasured(modes: Sequence[str], sizes: Sequence[int]) -> dict[str, str]:
    """Return the modes for which none of these sizes is measured, with the reason.

    Raises:
        GhashgenError: nothing is left.
    """
    why = f"measured up to {EDGE_LARGEST} bytes"
    found = {mode: why for mode in modes if not sizes_of(mode, sizes)}
    if len(found) == len(set(modes)):
        raise GhashgenError(f"mode {', '.join(found)} is {why}", "choose smaller --sizes too")
    return found
