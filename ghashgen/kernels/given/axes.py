"""The axes of kernels in a host's layout."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ghashgen.kernels.axes import Axis
from ghashgen.kernels.gcm import axes as gcm_axes
from ghashgen.kernels.given.interface import interfaces

INTERFACE = Axis(
    "interface",
    "Use this host's symbols, prototypes and key schedule, to replace its functions.",
    lambda: tuple(interfaces()),
)


def _isas(values: Mapping[str, Any]) -> tuple[str, ...]:
    return interfaces()[values["interface"]].isas


ISA = replace(gcm_axes.ISA, left_open=_isas)
SCHEDULE, WIPE = gcm_axes.SCHEDULE, gcm_axes.WIPE

AXES = (*(INTERFACE, ISA, gcm_axes.MULTIPLY, gcm_axes.REDUCE, gcm_axes.BLOCKS), *(SCHEDULE, WIPE))
"""All axes, in the order in which they are named, asked for and refused."""
