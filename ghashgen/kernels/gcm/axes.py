"""The axes of AES-GCM kernels: those of their GHASH part, and the size of the key."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ghashgen.arch.registry import isas
from ghashgen.kernels.axes import Axis
from ghashgen.kernels.hash import axes as hash_axes

RUN_REGISTERS = 6
"""Registers of a group where nobody says how many: enough to cover the latency of a round."""


def _with_aes(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the proved sets that have instructions for AES."""
    found = (isa for isa in isas().values() if isa.arch.proved and "aes_round" in isa.supported)
    return tuple(isa.name for isa in found)


def _size(values: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the group size of an instruction set."""
    return (RUN_REGISTERS * isas()[values["isa"]].lanes,)


KEY = Axis("key", "Bits of an AES key: 128, 192, 256.", lambda: range(128, 257, 64))
ISA = replace(hash_axes.ISA, left_open=_with_aes)
MULTIPLY, REDUCE = hash_axes.MULTIPLY, hash_axes.REDUCE
BLOCKS = replace(hash_axes.BLOCKS, left_open=_size)
ORDER, SCHEDULE, WIPE = hash_axes.ORDER, hash_axes.SCHEDULE, hash_axes.WIPE

ROUND_KEYS = Axis(
    "roundkeys",
    "Round keys of the group loop: registers, memory.",
    lambda: ("registers", "memory"),
    "registers",
    mark=lambda value: "memkeys",
)
"""As many as find a register free beside a group's are loaded once; or all are read where they are
used, every time."""

STITCH = Axis(
    "stitch",
    "Weave AES and GHASH of the group loop into one order.",
    lambda: (True, False),
    True,
    mark=lambda value: "apart",
)
"""Or a group's AES, then its GHASH: what stitching is compared with (papers/intel-2010)."""

MESSAGES = Axis(
    "messages",
    "Export seal and open: a whole message in one call.",
    lambda: (False, True),
    True,
    mark=lambda whole: "" if whole else "text",
)
"""Without, a kernel does the text alone, for hosts that make tags themselves."""

STREAMS = Axis(
    "streams",
    "Export start, aad, encrypt_more, decrypt_more, finish and verify too: a message in pieces.",
    lambda: (False, True),
    False,
)

SHORT = Axis(
    "short",
    "Messages of few blocks have a straight path of their own.",
    lambda: (False, True),
    False,
)

SEGMENTS = hash_axes.SEGMENTS
"""Export hash, power and combine too: threads take segments of a text by encrypt and decrypt, each
from its own counter block and state 0, and these three make the rest of a message of them."""

AXES = (
    *(KEY, ISA, MULTIPLY, REDUCE, BLOCKS, ORDER, ROUND_KEYS, STITCH),
    *(MESSAGES, SHORT, STREAMS, SEGMENTS, SCHEDULE, WIPE),
)
"""All of them, in the order in which they are named, asked for and refused."""
