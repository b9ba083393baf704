"""hoist: moves constants read inside loops into registers, loaded before the loop.

A memory operand costs a load port at every use; a constant costs one register. If a loop has too
few registers for all, the constants that it reads most often get them. They are loaded as late as
the loops allow, so that a message that takes no loop loads none: at the start of the last block
outside loops that every path to the loops passes. Code behind that block uses the register too,
until more registers would be needed than there are; other code uses the memory.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ghashgen.compiler.liveness import falls_through, liveness, positions, targets
from ghashgen.ir.program import CODES, Block, Mem, Op, Operand, Program, RegClass, VReg

Use = tuple[str, int]
"""A constant and the width in bits at which it is read."""


def hoist(program: Program, registers: int) -> Program:
    """Return the program with its loops' constants in registers; `registers` is the number of
    vector registers.
    """
    blocks = program.blocks
    loops = _fitting(program, registers)
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
            # A wider register also serves narrower uses.
            for (name, wide), (home, at) in sorted(homes.items()):
                if name == operand.symbol and wide >= width and at in dominators[block]:
                    return home
        return operand

    def moved(op: Op, block: int) -> Op:
        if block in crowded or not _constants(op):
            return op
        return op.on(*(move(operand, op.width, block) for operand in op.operands))

    def hoisted() -> Program:
        found = (
            replace(block, ops=(*loads.get(i, ()), *(moved(op, i) for op in block.ops)))
            for i, block in enumerate(blocks)
        )
        return replace(program, blocks=tuple(found))

    crowded: set[int] = set()
    crowded |= _crowded(hoisted(), registers)
    return hoisted()


def _crowded(program: Program, registers: int) -> set[int]:
    """Return the blocks outside loops that need too many registers, and those behind them."""
    live, blocks = liveness(program, CODES), program.blocks
    vectors = sum(1 << n for reg, n in live.numbers.items() if reg.cls is RegClass.VEC)
    at = positions(blocks)
    work = [
        i
        for i, block in enumerate(blocks)
        if not block.depth
        and any((after.bits & vectors).bit_count() > registers for after in live.after[i])
    ]
    found: set[int] = set()
    while work:
        i = work.pop()
        if i in found or blocks[i].depth:
            continue
        found.add(i)
        work += [at[name] for op in blocks[i].ops for name in targets(op)]
        if falls_through(blocks, i, CODES):
            work.append(i + 1)
    return found


def _fitting(program: Program, registers: int) -> dict[Use, set[int]]:
    """Return the constants that get a register in every loop that reads them, with these loops'
    blocks.
    """
    live, blocks = liveness(program, CODES), program.blocks
    vectors = sum(1 << n for reg, n in live.numbers.items() if reg.cls is RegClass.VEC)
    loops: dict[Use, set[int]] = {}
    reads: Counter[Use] = Counter()
    room: dict[int, int] = {}
    for i, block in enumerate(blocks):
        if not block.depth:
            continue
        most = max(((after.bits & vectors).bit_count() for after in live.after[i]), default=0)
        room[i] = registers - most
        for op in block.ops:
            for name in _constants(op):
                loops.setdefault((name, op.width), set()).add(i)
                reads[name, op.width] += 1
    found: dict[Use, set[int]] = {}
    # A constant that is kept lives through all blocks of its loops: the neighbours of this depth.
    for use in sorted(loops, key=lambda use: (-reads[use], use)):
        through = {j for i in loops[use] for j in _around(blocks, i)}
        if all(room[j] > 0 for j in through):
            found[use] = loops[use]
            for j in through:
                room[j] -= 1
    return found


def _around(blocks: Sequence[Block], at: int) -> Iterable[int]:
    """Return the unbroken run of blocks in loops around a block."""
    first = last = at
    while first and blocks[first - 1].depth:
        first -= 1
    while last + 1 < len(blocks) and blocks[last + 1].depth:
        last += 1
    return range(first, last + 1)


def _constants(op: Op) -> list[str]:
    """Return the constants that an operation reads; one whose address it takes stays in memory."""
    if op.code == "gpr_address":
        return []
    return [x.symbol for x in op.operands if isinstance(x, Mem) and x.symbol]


def _dominators(blocks: Sequence[Block]) -> list[set[int]]:
    """Return, for every block, the blocks that every path to it from the entry passes.

    No path reaches some blocks, and so all of their paths pass every block.
    """
    at = positions(blocks)
    before: list[set[int]] = [set() for _ in blocks]
    for i, block in enumerate(blocks):
        for op in block.ops:
            for name in targets(op):
                before[at[name]].add(i)
        if falls_through(blocks, i, CODES):
            before[i + 1].add(i)
    every = set(range(len(blocks)))
    found = [{0}, *(every for _ in blocks[1:])]
    changed = True
    while changed:
        changed = False
        for i in range(1, len(blocks)):
            now = {i} | every.intersection(*(found[j] for j in before[i]))
            if now != found[i]:
                found[i], changed = now, True
    return found


def _common(dominators: Sequence[set[int]], uses: Iterable[int]) -> set[int]:
    return set.intersection(*(dominators[i] for i in uses))
