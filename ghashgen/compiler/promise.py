"""promise: limits the alignment of memory operands to what the caller promises for the table.

A function states how its operands are aligned relative to their object. Constants are the file's
own, and x, h and in may lie anywhere; only the table's alignment is the caller's promise. If an
instruction needs more alignment than is left, `select` loads the operand first.
"""

from dataclasses import replace

from ghashgen.arch.rows import Isa
from ghashgen.ir.program import Mem, Op, Operand, Program


def promise(program: Program, isa: Isa, table_align: int) -> Program:
    """Return the program with the alignment of operands limited; `table_align` is in bytes.

    If the ISA's operands need no more than is promised, the program is unchanged.
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
