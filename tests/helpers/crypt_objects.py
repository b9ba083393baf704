"""Objects that encrypt, and what they claim."""

from functools import cache

from ghashgen.algebra.field.bitorder import Order
from ghashgen.verify.statements.gcm import OPERATIONS, GcmFunction, GcmSpec, parse_cell
from helpers.verify_objects import ASM

KERNELS = {"stitched": (4, range(1, 5)), "stitched_wide": (8, range(8, 0, -1))}
"""Blocks a group, and the powers of H in the order in which the table has them."""


def spec(kernel: str, operation: str) -> GcmSpec:
    blocks, powers = KERNELS[kernel]
    texts = [f"B{i}" for i in powers] + [f"key{i}" for i in range(11)]
    return GcmSpec(
        name="by hand",
        abi="sysv",
        key_bits=128,
        order=Order.REFLECTED,
        blocks=blocks,
        cells=tuple(map(parse_cell, texts)),
        table_bytes=16 * len(texts),
        functions=(GcmFunction(operation, f"{kernel}_{operation}", OPERATIONS[operation]),),
    )


@cache
def source(kernel: str, *defined: str) -> str:
    lines = [f"%define {name}" for name in defined]
    return "\n".join([*lines, (ASM / f"{kernel}.asm").read_text()])
