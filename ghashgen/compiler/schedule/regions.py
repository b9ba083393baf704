"""Regions: the runs of operations within a block that may change places, between control.

A block may branch before its end. Nothing moves across a branch or a return, and a comparison stays
directly before the branch that reads its flags, so that the two fuse.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ghashgen.arch.rows import Row
from ghashgen.ir.program import Block, Label, Op

LEAVE_FLAGS = frozenset(("mov", "movzx", "lea", "kmovq", "push", "pop", "endbr64"))
"""Mnemonics on general registers that change no flags; every other one is taken to set them."""

FLAGS = "flags"
"""The flags, as a register."""


@dataclass(frozen=True)
class Region:
    """Operations `start` to `end` (excluded) of a block."""

    block: int
    start: int
    end: int
    loops: bool
    """Whether it is a loop's whole body: the block ends by branching back to itself alone."""


def reads_flags(op: Op) -> bool:
    """Whether an operation depends on the flags: conditional branches, here."""
    return op.code.startswith("j") and op.code != "jmp"


def writes_flags(op: Op, row: Row) -> bool:
    """Whether an operation may change the flags."""
    vector = any(set(spec.kinds) & {"v", "h", "x"} for spec in row.operands)
    return bool(row.operands) and not (
        vector or is_control(op) or op.code.partition(".")[0] in LEAVE_FLAGS
    )


def is_control(op: Op) -> bool:
    """Whether control may leave at this operation, or it acts on more than it names."""
    return not op.operands or any(isinstance(operand, Label) for operand in op.operands)


def regions(index: int, block: Block, rows: Mapping[str, Row]) -> Iterator[Region]:
    """Yield the regions of a block that hold at least two operations."""
    fixed = [is_control(op) for op in block.ops]
    for i, op in enumerate(block.ops):
        if reads_flags(op) and i and writes_flags(block.ops[i - 1], rows[block.ops[i - 1].code]):
            fixed[i - 1] = True
    last = block.ops[-1] if block.ops else None
    back = last is not None and any(
        isinstance(x, Label) and x.name == block.label for x in last.operands
    )
    alone = sum(map(is_control, block.ops)) == 1
    start = 0
    for i in range(len(block.ops) + 1):
        if i == len(block.ops) or fixed[i]:
            if i - start > 1:
                yield Region(index, start, i, back and alone and start == 0)
            start = i + 1
