"""The axes that kernels of every AES mode have."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ghashgen.arch.registry import isas
from ghashgen.arch.rows import Isa
from ghashgen.kernels import shared_axes
from ghashgen.kernels.axes import Axis, Refusals

RUN_REGISTERS = 6
"""Default number of registers in a group: enough to hide the latency of an AES round."""

MOST_BLOCKS = 48
"""Blocks in the largest group."""


def _with_aes(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the proved instruction sets that have AES instructions."""
    found = (isa for isa in isas().values() if isa.arch.proved and "aes_round" in isa.supported)
    return tuple(isa.name for isa in found)


def group_size(values: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the instruction set's default group size in blocks."""
    return (RUN_REGISTERS * isas()[values["isa"]].lanes,)


KEY = Axis("key", "AES key size in bits: 128, 192, 256.", lambda: range(128, 257, 64))
ISA = replace(shared_axes.ISA, left_open=_with_aes)

BLOCKS = Axis(
    "blocks",
    f"Blocks in a group, 1-{MOST_BLOCKS}.",
    lambda: range(1, MOST_BLOCKS + 1),
    left_open=group_size,
    mark=lambda value: f"x{value}",
)

ROUND_KEYS = Axis(
    "roundkeys",
    "Where the group loop has its round keys: registers, memory.",
    lambda: ("registers", "memory"),
    "registers",
    mark=lambda value: "memkeys",
)
"""Load as many round keys as fit into free registers once, or read all of them in every use."""

WIPE = shared_axes.WIPE


def group_refusals(isa: Isa, blocks: int, roundkeys: str, room: int) -> Refusals:
    """Yield what no group of AES can be; `room` are the registers that are free for round keys."""
    yield (
        "aes_round" not in isa.supported,
        f"isa {isa.name!r} has no AES instructions",
        "choose another isa",
    )
    yield (
        blocks % isa.lanes != 0,
        f"blocks {blocks} do not fill registers of {isa.lanes} lanes",
        f"choose a multiple of {isa.lanes}",
    )
    yield (
        roundkeys == "memory" and not room,
        f"isa {isa.name!r} with {blocks} blocks keeps all round keys in memory anyway: no "
        "register is free",
        "leave out roundkeys, or choose another isa or fewer blocks",
    )
