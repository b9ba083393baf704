"""What every x86-64 instruction set here shares: general registers, branches, prologue.

Only instructions without fixed registers are used, so the allocator is free.
"""

from ghashgen.arch.rows import Row, lowering, row_table

_SDM = "Intel SDM vol. 2"

ROWS = row_table(
    Row("mov.copy", "w:q r:q", (), f"{_SDM}, MOV", "other", copy=True),
    Row("mov.const", "w:d r:i", (), f"{_SDM}, MOV", "other"),
    Row("movzx.load8", "w:d r:m8", (), f"{_SDM}, MOVZX", "load"),
    Row("lea", "w:q r:addr", (), f"{_SDM}, LEA", "other"),
    Row("add", "rw:q r:i", (), f"{_SDM}, ADD", "other"),
    Row("sub", "rw:q r:i", (), f"{_SDM}, SUB", "other"),
    Row("sub.reg", "rw:q r:q", (), f"{_SDM}, SUB", "other"),
    Row("and", "rw:q r:i", (), f"{_SDM}, AND", "other"),
    Row("shl", "rw:q r:i", (), f"{_SDM}, SAL/SAR/SHL/SHR", "other"),
    Row("shr", "rw:q r:i", (), f"{_SDM}, SAL/SAR/SHL/SHR", "other"),
    Row("neg", "rw:q", (), f"{_SDM}, NEG", "other"),
    Row("xor.zero", "w:d n:d", (), f"{_SDM}, XOR", "other"),
    Row("cmp", "r:q r:i", (), f"{_SDM}, CMP", "other"),
    Row("jmp", "r:l", (), f"{_SDM}, JMP", "other"),
    Row("jb", "r:l", (), f"{_SDM}, Jcc", "other"),
    Row("jae", "r:l", (), f"{_SDM}, Jcc", "other"),
    Row("je", "r:l", (), f"{_SDM}, Jcc", "other"),
    Row("jne", "r:l", (), f"{_SDM}, Jcc", "other"),
    Row("ret", "", (), f"{_SDM}, RET", "other"),
    Row("push", "r:q", (), f"{_SDM}, PUSH", "other"),
    Row("pop", "w:q", (), f"{_SDM}, POP", "other"),
    Row("nop", "r:i", (), f"{_SDM}, NOP, recommended multi-byte sequences", "other"),
    Row("endbr64", "", (), f"{_SDM}, ENDBR64", "other"),
)
"""Rows of general registers and control flow."""

LOWER = lowering("""
    gpr_copy:           mov.copy d a
    gpr_const:          mov.const d i
    gpr_load8:          movzx.load8 d m
    gpr_address:        lea d m
    gpr_add:            mov.copy d a; add d i
    gpr_sub:            mov.copy d a; sub d i
    gpr_minus:          mov.copy d a; sub.reg d b
    gpr_and:            mov.copy d a; and d i
    gpr_shl:            mov.copy d a; shl d i
    gpr_shr:            mov.copy d a; shr d i
    gpr_neg:            mov.copy d a; neg d
    jump:               jmp l
    branch_below:       cmp a i; jb l
    branch_not_below:   cmp a i; jae l
    branch_equal:       cmp a i; je l
    branch_not_equal:   cmp a i; jne l
    return:             ret
""")
"""Lowering of the operations on general registers and of control flow."""
