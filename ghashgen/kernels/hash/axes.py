"""The axes of GHASH and POLYVAL kernels."""

from ghashgen.algebra.field.bitorder import Order
from ghashgen.algebra.schemes.aggregate import MAX_BLOCKS
from ghashgen.algebra.schemes.registry import multiplies, reduces
from ghashgen.arch.registry import isas
from ghashgen.arch.schedules import WRITTEN, schedules
from ghashgen.kernels.axes import Axis
from ghashgen.kernels.hash.definition import OPS

ISA = Axis("isa", "Instruction set.", lambda: tuple(isas()))
MULTIPLY = Axis("multiply", "Multiply scheme.", lambda: tuple(multiplies()))
REDUCE = Axis("reduce", "Reduction scheme.", lambda: tuple(reduces()))

BLOCKS = Axis("blocks", f"Blocks a group, 1-{MAX_BLOCKS}.", lambda: range(1, MAX_BLOCKS + 1))

ORDER = Axis(
    "order",
    "Bit order: reflected, natural.",
    lambda: tuple(order.value for order in Order),
    Order.REFLECTED.value,
)

OP = Axis("op", "Operation: ghash, polyval.", lambda: OPS, "ghash")
"""POLYVAL (RFC 8452) is the same product without the byte swap and without the twist."""

FOLD = Axis(
    "fold",
    "Lanes are added up: after each group, at the end.",
    lambda: ("group", "end"),
    "group",
)
"""When the lanes of a register are added up: after every group (papers/intel-2023, Figure 8), or
once at the end, each lane having its own Horner accumulator (Figure 9)."""

SWAP = Axis("swap", "Byte swap: register, stack.", lambda: ("register", "stack"), "register")
"""Bytes are swapped in each register; or two xmm blocks at a time in a ymm register, from which a
stack buffer brings them back, so that a block costs half a shuffle."""

POWERS = Axis(
    "powers",
    "Powers of the group loop: memory, registers.",
    lambda: ("memory", "registers"),
    "memory",
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
)
"""As written, or ordered for a microarchitecture, see `arch.schedules`."""

WIPE = Axis("wipe", "Zero secrets on return.", lambda: (False, True), False)
"""Zero every register and stack slot that held secrets before returning."""

SEGMENTS = Axis(
    "segments",
    "Export power and combine too, for hashing in threads.",
    lambda: (False, True),
    False,
)
"""Export power and combine too, which put the hashes of a message's segments together."""

AXES = (
    *(ISA, MULTIPLY, REDUCE, BLOCKS, ORDER, OP, FOLD, SWAP, POWERS, PIPELINE, SCHEDULE),
    *(WIPE, SEGMENTS),
)
"""All of them, in the order in which they are named, asked for and refused."""
