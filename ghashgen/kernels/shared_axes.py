"""The axes that every family with instruction sets and secrets has."""

from collections.abc import Mapping
from typing import Any

from ghashgen.arch.registry import isas
from ghashgen.kernels.axes import Axis


def _proved(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the instruction sets whose kernels are proved. The others are made only by name."""
    return tuple(isa.name for isa in isas().values() if isa.arch.proved)


ISA = Axis("isa", "Instruction set.", lambda: tuple(isas()), left_open=_proved)

WIPE = Axis("wipe", "Zero secrets on return.", lambda: (False, True), False)
"""Before returning, zero every register and stack slot that held secrets."""
