"""Which registers are live where, by backward data flow over the blocks.

Generic over the stage: `effects` says what one operation reads and writes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ghashgen.ir import CODES, Block, Label, Mem, Op, PReg, Program, Reg, VReg
from ghashgen.isa.core import Row

Effects = Callable[[Op], tuple[tuple[Reg, ...], tuple[Reg, ...]]]

_NO_FALL_THROUGH = frozenset({"jump", "return", "jmp", "ret"})


def abstract_effects(op: Op) -> tuple[tuple[Reg, ...], tuple[Reg, ...]]:
    """Return what an abstract operation reads and writes."""
    reads: list[Reg] = []
    writes: list[Reg] = []
    for role, operand in zip(CODES[op.code].roles, op.operands, strict=True):
        if isinstance(operand, Mem):
            reads.extend(operand.registers)
        elif isinstance(operand, VReg | PReg):
            (writes if role == "w" else reads).append(operand)
    return tuple(reads), tuple(writes)


def row_effects(rows: Mapping[str, Row]) -> Effects:
    """Return the effects function of selected code."""
    return lambda op: rows[op.code].effects(op)


def positions(blocks: Sequence[Block]) -> dict[str, int]:
    """Return the index of every block by its label."""
    return {block.label: i for i, block in enumerate(blocks)}


def targets(op: Op) -> list[str]:
    """Return the labels to which an operation may branch; a block may branch before its end."""
    return [x.name for x in op.operands if isinstance(x, Label)]


def falls_through(blocks: Sequence[Block], index: int) -> bool:
    """Whether control may run from the end of block `index` into the next one."""
    ops = blocks[index].ops
    return not (ops and ops[-1].code in _NO_FALL_THROUGH) and index + 1 < len(blocks)


@dataclass(frozen=True)
class Liveness:
    """For every block, the registers live after each of its operations, and at its start."""

    after: tuple[tuple[frozenset[Reg], ...], ...]
    at_start: tuple[frozenset[Reg], ...]


def liveness(program: Program, effects: Effects) -> Liveness:
    """Return what is live where."""
    blocks = program.blocks
    at = positions(blocks)
    start: list[frozenset[Reg]] = [frozenset()] * len(blocks)
    after: list[tuple[frozenset[Reg], ...]] = [()] * len(blocks)
    # What does not change from round to round: (blocks branched to, reads, writes), last op first.
    facts = [
        [([at[name] for name in targets(op)], *effects(op)) for op in reversed(block.ops)]
        for block in blocks
    ]
    changed = True
    while changed:
        changed = False
        for i in reversed(range(len(blocks))):
            live: frozenset[Reg] = start[i + 1] if falls_through(blocks, i) else frozenset()
            points = []
            for leaving, reads, writes in facts[i]:
                if leaving:
                    live = live.union(*(start[to] for to in leaving))
                points.append(live)
                live = live.difference(writes).union(reads)
            after[i] = tuple(reversed(points))
            if live != start[i]:
                start[i], changed = live, True
    return Liveness(tuple(after), tuple(start))


def used_before_set(program: Program, effects: Effects) -> frozenset[Reg]:
    """Return registers that some path reads before writing; only parameters may be among them."""
    return liveness(program, effects).at_start[0] - frozenset[Reg](program.params)
