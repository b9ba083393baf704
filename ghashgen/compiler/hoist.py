"""hoist: constants read inside loops move to registers, loaded before the loop.

A memory operand costs a load port every time; a constant costs one register. The few constants of a
GHASH function (the byte mask, Q') always fit. They are loaded as late as the loops allow, so that a
message that takes no loop loads none: at the start of the last block outside loops through which
every way to the loops leads. Code behind that block uses the register too, other code the memory.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ghashgen.compiler.liveness import falls_through, positions, targets
from ghashgen.ir.program import CODES, Block, Mem, Op, Operand, Program, RegClass, VReg

Use = tuple[str, int]
"""A constant and the width in bits at which it is read."""


def hoist(program: Program) -> Program:
    """Return the program with the constants of its loops in registers."""
    blocks = program.blocks
    loops: dict[Use, set[int]] = {}
    for i, block in enumerate(blocks):
        for op in block.ops if block.depth else ():
            for name in _constants(op.operands):
                loops.setdefault((name, op.width), set()).add(i)
    dominators = _dominators(blocks)
    taken = [x.index for op in program.ops for x in op.operands if isinstance(x, VReg)]
    first = max(taken, default=0) + 1
    homes: dict[Use, tuple[VReg, int]] = {}
    loads: dict[int, list[Op]] = {}
    for i, use in enumerate(sorted(loops)):
        name, width = use
        home = VReg(RegClass.VEC, first + i, name)
        at = max(d for d in _common(dominators, loops[use]) if not blocks[d].depth)
        homes[use] = home, at
        memory = Mem(symbol=name, align=len(program.constants[name].data))
        loads.setdefault(at, []).append(Op("load_aligned", (home, memory), width, name))

    def move(operand: Operand, width: int, block: int) -> Operand:
        if isinstance(operand, Mem) and operand.symbol:
            # A wider register serves a narrower use.
            for (name, wide), (home, at) in sorted(homes.items()):
                if name == operand.symbol and wide >= width and at in dominators[block]:
                    return home
        return operand

    def moved(op: Op, block: int) -> Op:
        if not _constants(op.operands):
            return op
        return op.on(*(move(operand, op.width, block) for operand in op.operands))

    return replace(
        program,
        blocks=tuple(
            replace(
                block,
                ops=(
                    *loads.get(i, ()),
                    *(moved(op, i) for op in block.ops),
                ),
            )
            for i, block in enumerate(blocks)
        ),
    )


def _constants(operands: Iterable[Operand]) -> list[str]:
    return [x.symbol for x in operands if isinstance(x, Mem) and x.symbol]


def _dominators(blocks: Sequence[Block]) -> list[set[int]]:
    """Return, for every block, the blocks whose start lies on every way to it from the entry."""
    at = positions(blocks)
    before: list[set[int]] = [set() for _ in blocks]
    for i, block in enumerate(blocks):
        for op in block.ops:
            for name in targets(op):
                before[at[name]].add(i)
        if falls_through(blocks, i, CODES):
            before[i + 1].add(i)
    found: list[set[int]] = [{0}, *(set(range(len(blocks))) for _ in blocks[1:])]
    changed = True
    while changed:
        changed = False
        for i in range(1, len(blocks)):
            ways = [found[j] for j in before[i]]
            now = {i} | (set.intersection(*ways) if ways else set())
            if now != found[i]:
                found[i], changed = now, True
    return found


def _common(dominators: Sequence[set[int]], uses: Iterable[int]) -> set[int]:
    return set.intersection(*(dominators[i] for i in uses))
