"""The axes of GHASH and POLYVAL kernels."""

from collections.abc import Mapping
from typing import Any

from ghashgen.algebra.field.bitorder import Order
from ghashgen.algebra.schemes.aggregate import MAX_BLOCKS
from ghashgen.algebra.schemes.registry import multiplies, reduces
from ghashgen.arch.registry import isas
from ghashgen.arch.schedules import WRITTEN, schedules, suffix
from ghashgen.kernels.axes import Axis
from ghashgen.kernels.hash.definition import OPS


def _proved(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the sets whose kernels are proved: the others are made only where they are named."""
    return tuple(isa.name for isa in isas().values() if isa.arch.proved)


def _multiplies(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the multiply schemes whose product the reduction takes, if one is chosen."""
    shapes = [reduces()[values["reduce"]].shape] if "reduce" in values else None
    return tuple(m.name for m in multiplies().values() if shapes is None or m.shape in shapes)


def _reduces(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the reductions that take the product of the multiply scheme."""
    shape = multiplies()[values["multiply"]].shape
    return tuple(r.name for r in reduces().values() if r.shape is shape)


def _sizes(values: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the group sizes that an instruction set ships."""
    return isas()[values["isa"]].catalogue_blocks


ISA = Axis("isa", "Instruction set.", lambda: tuple(isas()), left_open=_proved)
MULTIPLY = Axis("multiply", "Multiply scheme.", lambda: tuple(multiplies()), left_open=_multiplies)
REDUCE = Axis("reduce", "Reduction scheme.", lambda: tuple(reduces()), left_open=_reduces)

BLOCKS = Axis(
    "blocks",
    f"Blocks a group, 1-{MAX_BLOCKS}.",
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
"""POLYVAL (RFC 8452) is the same product without the byte swap and without the twist."""

FOLD = Axis(
    "fold",
    "Lanes are added up: after each group, at the end.",
    lambda: ("group", "end"),
    "group",
    mark=lambda value: "lanes",
)
"""When the lanes of a register are added up: after every group (papers/intel-2023, Figure 8), or
once at the end, each lane having its own Horner accumulator (Figure 9)."""

SWAP = Axis(
    "swap",
    "Byte swap: register, stack.",
    lambda: ("register", "stack"),
    "register",
    mark=lambda value: "stackswap",
)
"""Bytes are swapped in each register; or two xmm blocks at a time in a ymm register, from which a
stack buffer brings them back, so that a block costs half a shuffle."""

POWERS = Axis(
    "powers",
    "Powers of the group loop: memory, registers.",
    lambda: ("memory", "registers"),
    "memory",
    mark=lambda value: "regs",
)
"""The group loop reads its powers from the table each time, or keeps them in registers."""

PIPELINE = Axis(
    "pipeline",
    "What a group prepares of the next: none, ahead.",
    lambda: ("none", "ahead"),
    "none",
)
"""The group loop loads its blocks itself; or finds its first ones prepared by the group before."""

SCHEDULE = Axis(
    "schedule",
    "Order of operations: written, or a CPU's name.",
    schedules,
    WRITTEN,
    mark=suffix,
)
"""As written, or ordered for a microarchitecture, see `arch.schedules`."""

WIPE = Axis("wipe", "Zero secrets on return.", lambda: (False, True), False)
"""Zero every register and stack slot that held secrets before returning."""

SEGMENTS = Axis(
    "segments",
    "Export power and combine too, for one message in threads.",
    lambda: (False, True),
    False,
)
"""Export power and combine too, which put the hashes of a message's segments together."""

COLUMNS = Axis(
    "columns",
    "Export column too, for one message in rows of so many blocks: 1 (none), 2, 4, 8.",
    lambda: (1, 2, 4, 8),
    1,
    mark=lambda value: f"columns{value}",
)
"""A message in rows of so many blocks, of which a thread takes a column: every n-th block, by the
table of H^n. Kernels of one column export nothing for that."""

AXES = (
    *(ISA, MULTIPLY, REDUCE, BLOCKS, ORDER, OP, FOLD, SWAP, POWERS, PIPELINE, SCHEDULE),
    *(WIPE, SEGMENTS, COLUMNS),
)
"""All of them, in the order in which they are asked for and refused."""

NAMED = (
    *(OP, ISA, MULTIPLY, REDUCE, BLOCKS, ORDER, FOLD, SWAP, POWERS, PIPELINE, SEGMENTS, COLUMNS),
    *(WIPE, SCHEDULE),
)
"""All of them, in the order in which a kernel's name has them."""
