"""The axes of AES-GCM kernels: those of their GHASH part, the key size, and AES-GCM's own."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ghashgen.arch.registry import isas
from ghashgen.kernels.axes import Axis
from ghashgen.kernels.hash import axes as hash_axes

RUN_REGISTERS = 6
"""Default number of registers in a group: enough to hide the latency of an AES round."""


def _with_aes(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the proved instruction sets that have AES instructions."""
    found = (isa for isa in isas().values() if isa.arch.proved and "aes_round" in isa.supported)
    return tuple(isa.name for isa in found)


def _size(values: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the instruction set's default group size in blocks."""
    return (RUN_REGISTERS * isas()[values["isa"]].lanes,)


KEY = Axis("key", "AES key size in bits: 128, 192, 256.", lambda: range(128, 257, 64))
ISA = replace(hash_axes.ISA, left_open=_with_aes)
MULTIPLY, REDUCE = hash_axes.MULTIPLY, hash_axes.REDUCE
BLOCKS = replace(hash_axes.BLOCKS, left_open=_size)
ORDER, SCHEDULE, WIPE = hash_axes.ORDER, hash_axes.SCHEDULE, hash_axes.WIPE

ROUND_KEYS = Axis(
    "roundkeys",
    "Where the group loop has its round keys: registers, memory.",
    lambda: ("registers", "memory"),
    "registers",
    mark=lambda value: "memkeys",
)
"""Load as many round keys as fit into free registers once, or read all of them in every use."""

STITCH = Axis(
    "stitch",
    "Interleave AES and GHASH in the group loop.",
    lambda: (True, False),
    True,
    mark=lambda value: "apart",
)
"""Otherwise a group does its AES, then its GHASH. This is what stitching is compared with
(papers/intel-2010).
"""

MESSAGES = Axis(
    "messages",
    "Export seal and open: a whole message in one call.",
    lambda: (False, True),
    True,
    mark=lambda whole: "" if whole else "text",
)
"""Without it, a kernel handles only the text, for hosts that make tags themselves."""

STREAMS = Axis(
    "streams",
    "Also export start, aad, encrypt_more, decrypt_more, finish and verify: messages in pieces.",
    lambda: (False, True),
    False,
)

SHORT = Axis(
    "short",
    "Add a path without loops for short messages.",
    lambda: (False, True),
    False,
)

SEGMENTS = hash_axes.SEGMENTS
"""Also export hash, power and combine. Threads process segments of a text by encrypt and decrypt,
each from its own counter block and state 0; these three functions make the whole message's tag.
"""

AXES = (
    *(KEY, ISA, MULTIPLY, REDUCE, BLOCKS, ORDER, ROUND_KEYS, STITCH),
    *(MESSAGES, SHORT, STREAMS, SEGMENTS, SCHEDULE, WIPE),
)
"""All axes, in the order in which they are named, asked for and refused."""
