"""promise: no memory operand counts on more alignment than the caller promises for the table.

A function states how its operands lie from the start of what they are in. Constants are the file's
own, and x, h and in may lie anywhere; only the table has an alignment, and it is the caller's word.
`select` then loads an operand first where an instruction needs more alignment than is left of it.
"""

from dataclasses import replace

from ghashgen.arch.rows import Isa
from ghashgen.ir.program import Mem, Op, Operand, Program


def promise(program: Program, isa: Isa, table_align: int) -> Program:
    """Return the program with the alignment of operands capped; `table_align` is in bytes.

    An ISA whose operands need no more than is promised takes the program as it is.
    """
    if isa.operand_align <= table_align:
        return program

    def capped(operand: Operand) -> Operand:
        if isinstance(operand, Mem) and not operand.symbol and operand.align > table_align:
            return replace(operand, align=table_align)
        return operand

    def on(op: Op) -> Op:
        return op.on(*map(capped, op.operands))

    return replace(
        program,
        blocks=tuple(replace(block, ops=tuple(map(on, block.ops))) for block in program.blocks),
    )
