"""Regions: runs of operations within a block, between control, that may be reordered.

A block may branch before its end. Nothing moves across a branch or a return, and a comparison stays
directly before the branch that reads its flags, so that the two fuse.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Protocol

from ghashgen.arch.rows import Row
from ghashgen.ir.program import Block, Flow, Label, Program

FLAGS = "flags"
"""The flags, as a register."""


class Machine(Protocol):
    """What operations are rows of: an instruction set, or its replacement before `select`."""

    @property
    def rows(self) -> Mapping[str, Row]:
        """The rows by key."""
        ...

    @property
    def lanes(self) -> int:
        """A stack slot has 16 times this many bytes."""
        ...


@dataclass(frozen=True)
class Region:
    """Operations `start` to `end` (excluded) of a block."""

    block: int
    start: int
    end: int
    loops: bool
    """Whether it is a loop's whole body: the block ends by branching back to itself alone."""


def is_control(row: Row) -> bool:
    """Return whether control may leave at an instruction, or it acts on more than it names."""
    return not row.operands or row.flow is not Flow.NEXT


def regions(index: int, block: Block, rows: Mapping[str, Row]) -> Iterator[Region]:
    """Yield the regions of a block that hold at least two operations."""
    facts = [rows[op.code] for op in block.ops]
    control = [is_control(row) for row in facts]
    fixed = list(control)
    for i, (before, row) in enumerate(pairwise(facts)):
        if row.flow is Flow.BRANCH and "r" in row.flags and "w" in before.flags:
            fixed[i] = True
    last = block.ops[-1] if block.ops else None
    back = last is not None and any(
        isinstance(x, Label) and x.name == block.label for x in last.operands
    )
    alone = sum(control) == 1
    start = 0
    for i in range(len(block.ops) + 1):
        if i == len(block.ops) or fixed[i]:
            if i - start > 1:
                yield Region(index, start, i, back and alone and start == 0)
            start = i + 1


def all_regions(program: Program, isa: Machine) -> Iterator[Region]:
    """Yield the regions of every block."""
    for index, block in enumerate(program.blocks):
        yield from regions(index, block, isa.rows)


def reorder(block: Block, region: Region, order: Sequence[int]) -> Block:
    """Return the block with a region's operations in another order."""
    ops = list(block.ops)
    ops[region.start : region.end] = [block.ops[region.start + i] for i in order]
    return replace(block, ops=tuple(ops))
