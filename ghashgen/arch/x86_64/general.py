"""Shared by all x86-64 instruction sets: general registers, branches, prologue.

Only instructions without fixed registers are used, so that the allocator is free.
"""

from ghashgen.arch.rows import RETURN_VALUE, Row, lowering, row_table
from ghashgen.ir.program import Flow

_SDM = "Intel SDM vol. 2"

ROWS = row_table(
    Row("mov.copy", "w:q r:q", (), f"{_SDM}, MOV", "other", copy=True, flags=""),
    Row("mov.const", "w:d r:i", (), f"{_SDM}, MOV", "other", flags=""),
    Row("mov.const64", "w:q r:i", (), f"{_SDM}, MOV", "other", flags=""),
    Row("movzx.load8", "w:d r:m8", (), f"{_SDM}, MOVZX", "load", flags=""),
    Row("mov.load64", "w:q r:m64", (), f"{_SDM}, MOV", "load", flags=""),
    Row("mov.store64", "w:m64 r:q", (), f"{_SDM}, MOV", "store", flags=""),
    Row("lea", "w:q r:addr", (), f"{_SDM}, LEA", "other", flags=""),
    Row("add", "rw:q r:i", (), f"{_SDM}, ADD", "other", flags="w", fuses=True),
    Row("sub", "rw:q r:i", (), f"{_SDM}, SUB", "other", flags="w", fuses=True),
    Row("sub.reg", "rw:q r:q", (), f"{_SDM}, SUB", "other", flags="w", fuses=True),
    Row("xor.reg", "rw:q r:q", (), f"{_SDM}, XOR", "other", flags="w"),
    Row("or.reg", "rw:q r:q", (), f"{_SDM}, OR", "other", flags="w"),
    Row("and", "rw:q r:i", (), f"{_SDM}, AND", "other", flags="w", fuses=True),
    Row("shl", "rw:q r:i", (), f"{_SDM}, SAL/SAR/SHL/SHR", "other", flags="w"),
    Row("shr", "rw:q r:i", (), f"{_SDM}, SAL/SAR/SHL/SHR", "other", flags="w"),
    Row("neg", "rw:q", (), f"{_SDM}, NEG", "other", flags="w"),
    Row("xor.zero", "w:d n:d", (), f"{_SDM}, XOR", "other", flags="w"),
    Row("cmp", "r:q r:i", (), f"{_SDM}, CMP", "other", flags="w", fuses=True),
    Row("cmp.reg", "r:q r:q", (), f"{_SDM}, CMP", "other", flags="w", fuses=True),
    Row("jmp", "r:l", (), f"{_SDM}, JMP", "other", flags="", flow=Flow.JUMP),
    Row("jb", "r:l", (), f"{_SDM}, Jcc", "other", flags="r", flow=Flow.BRANCH),
    Row("jae", "r:l", (), f"{_SDM}, Jcc", "other", flags="r", flow=Flow.BRANCH),
    Row("ja", "r:l", (), f"{_SDM}, Jcc", "other", flags="r", flow=Flow.BRANCH),
    Row("je", "r:l", (), f"{_SDM}, Jcc", "other", flags="r", flow=Flow.BRANCH),
    Row("jne", "r:l", (), f"{_SDM}, Jcc", "other", flags="r", flow=Flow.BRANCH),
    Row("ret", "", (), f"{_SDM}, RET", "other", flags="", flow=Flow.RETURN),
    RETURN_VALUE,
    Row("push", "r:q", (), f"{_SDM}, PUSH", "other", flags=""),
    Row("pop", "w:q", (), f"{_SDM}, POP", "other", flags=""),
    Row("endbr64", "", (), f"{_SDM}, ENDBR64", "other", flags="", flow=Flow.NEXT),
)
"""Rows of general registers and control flow."""

LOWER = lowering("""
    gpr_copy:           mov.copy d a
    gpr_const:          mov.const d i
    gpr_const64:        mov.const64 d i
    gpr_load8:          movzx.load8 d m
    gpr_load64:         mov.load64 d m
    gpr_store64:        mov.store64 m a
    gpr_address:        lea d m
    gpr_add:            mov.copy d a; add d i
    gpr_sub:            mov.copy d a; sub d i
    gpr_minus:          mov.copy d a; sub.reg d b
    gpr_xor:            mov.copy d a; xor.reg d b
    gpr_or:             mov.copy d a; or.reg d b
    gpr_and:            mov.copy d a; and d i
    gpr_shl:            mov.copy d a; shl d i
    gpr_shr:            mov.copy d a; shr d i
    gpr_neg:            mov.copy d a; neg d
    jump:               jmp l
    branch_below:       cmp a i; jb l
    branch_not_below:   cmp a i; jae l
    branch_above:       cmp.reg a b; ja l
    branch_equal:       cmp a i; je l
    branch_not_equal:   cmp a i; jne l
    return:             ret
    return_value:       return.value a
""")
"""Lowering of the operations on general registers and of control flow."""
