"""hoist: constants read inside loops move to registers, loaded once at the function's entry.

A memory operand costs a load port every time; a constant costs one register. The few constants of a
GHASH function (the byte mask, Q') always fit.
"""

from dataclasses import replace

from ghashgen.ir import Block, Mem, Op, Operand, Program, RegClass, VReg


def hoist(program: Program) -> Program:
    """Return the program with the constants of its loops in registers."""
    looped = sorted(
        {
            operand.symbol
            for block in program.blocks
            if block.depth
            for op in block.ops
            for operand in op.operands
            if isinstance(operand, Mem) and operand.symbol
        }
    )
    if not looped:
        return program
    taken = [x.index for op in program.ops for x in op.operands if isinstance(x, VReg)]
    first = max(taken, default=0) + 1
    homes = {name: VReg(RegClass.VEC, first + i, name) for i, name in enumerate(looped)}
    loads = tuple(
        Op("load_aligned", (home, Mem(symbol=name, align=size)), 8 * size, name)
        for name, home in homes.items()
        for size in (len(program.constants[name].data),)
    )

    def move(operand: Operand) -> Operand:
        return homes.get(operand.symbol or "", operand) if isinstance(operand, Mem) else operand

    blocks = [
        replace(
            block,
            ops=tuple(op.on(*map(move, op.operands)) for op in block.ops),
        )
        for block in program.blocks
    ]
    entry = blocks[0]
    blocks[0] = Block(entry.label, loads + entry.ops, entry.depth)
    return replace(program, blocks=tuple(blocks))
