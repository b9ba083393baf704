"""The axes of GHASH and POLYVAL kernels."""

from collections.abc import Mapping
from typing import Any

from ghashgen.algebra.field.bitorder import Order
from ghashgen.algebra.schemes.aggregate import MAX_BLOCKS
from ghashgen.algebra.schemes.registry import multiplies, reduces
from ghashgen.arch.registry import isas
from ghashgen.arch.schedules import WRITTEN, schedules, suffix
from ghashgen.kernels import shared_axes
from ghashgen.kernels.axes import Axis
from ghashgen.kernels.hash.definition import OPS


def _multiplies(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the multiply schemes whose product the reduction takes, or all if none is chosen."""
    shapes = [reduces()[values["reduce"]].shape] if "reduce" in values else None
    return tuple(m.name for m in multiplies().values() if shapes is None or m.shape in shapes)


def _reduces(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the reductions that take the multiply scheme's product."""
    shape = multiplies()[values["multiply"]].shape
    return tuple(r.name for r in reduces().values() if r.shape is shape)


def _sizes(values: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the instruction set's group sizes in the catalogue."""
    return isas()[values["isa"]].catalogue_blocks


ISA, WIPE = shared_axes.ISA, shared_axes.WIPE
MULTIPLY = Axis("multiply", "Multiply scheme.", lambda: tuple(multiplies()), left_open=_multiplies)
REDUCE = Axis("reduce", "Reduction scheme.", lambda: tuple(reduces()), left_open=_reduces)

BLOCKS = Axis(
    "blocks",
    f"Blocks in a group, 1-{MAX_BLOCKS}.",
    lambda: range(1, MAX_BLOCKS + 1),
    left_open=_sizes,
    mark=lambda value: f"x{value}",
)

ORDER = Axis(
    "order",
    "Bit order: reflected, natural.",
    lambda: tuple(order.value for order in Order),
    Order.REFLECTED.value,
)

OP = Axis("op", "Operation: ghash, polyval.", lambda: OPS, "ghash", always_named=True)
"""POLYVAL (RFC 8452) is the same product without the byte swap and the twist."""

FOLD = Axis(
    "fold",
    "When lanes are added: group (after each group), end.",
    lambda: ("group", "end"),
    "group",
    mark=lambda value: "lanes",
)
"""When the lanes of a register are added: after every group (papers/intel-2023, Figure 8), or once
at the end, with a Horner accumulator in each lane (Figure 9).
"""

SWAP = Axis(
    "swap",
    "Where bytes are swapped: register, stack.",
    lambda: ("register", "stack"),
    "register",
    mark=lambda value: "stackswap",
)
"""Swap bytes in each register; or two xmm blocks at a time in a ymm register, then reload them from
a stack buffer, which costs half a shuffle for each block.
"""

POWERS = Axis(
    "powers",
    "Where the group loop has its powers: memory, registers.",
    lambda: ("memory", "registers"),
    "memory",
    mark=lambda value: "regs",
)
"""The group loop reads its powers from the table in every pass, or keeps them in registers."""

PIPELINE = Axis(
    "pipeline",
    "What a group prepares for the next: none, ahead.",
    lambda: ("none", "ahead"),
    "none",
)
"""The group loop loads all its blocks, or finds the first ones prepared by the previous group."""

SCHEDULE = Axis(
    "schedule", "Order of operations: written, or a CPU's name.", schedules, WRITTEN, mark=suffix
)
"""As written, or ordered for a microarchitecture; see `arch.schedules`."""

SEGMENTS = Axis(
    "segments",
    "Also export power and combine, to process a message in threads.",
    lambda: (False, True),
    False,
)
"""Also export power and combine, which join the hashes of a message's segments."""

COLUMNS = Axis(
    "columns",
    "Also export column, for messages in rows of this many blocks: 1 (none), 2, 4, 8.",
    lambda: (1, 2, 4, 8),
    1,
    mark=lambda value: f"columns{value}",
)
"""Blocks in a row of a message. A thread takes one column, every n-th block, and uses the table of
H^n. With 1, kernels export no column function.
"""

AXES = (
    *(ISA, MULTIPLY, REDUCE, BLOCKS, ORDER, OP, FOLD, SWAP, POWERS, PIPELINE, SCHEDULE),
    *(WIPE, SEGMENTS, COLUMNS),
)
"""All axes, in the order in which they are asked for and refused."""

NAMED = (
    *(OP, ISA, MULTIPLY, REDUCE, BLOCKS, ORDER, FOLD, SWAP, POWERS, PIPELINE, SEGMENTS, COLUMNS),
    *(WIPE, SCHEDULE),
)
"""All axes, in the order of a kernel's name."""
