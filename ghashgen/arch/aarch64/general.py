"""Shared by all AArch64 instruction sets: general registers, branches, frames.

Sources are sections of the Arm Architecture Reference Manual for A-profile, DDI 0487, by mnemonic.
"""

from ghashgen.arch.rows import RETURN_VALUE, Row, lowering, row_table
from ghashgen.ir.program import Flow

_ARM = "Arm ARM (DDI 0487), C6.2"

ROWS = row_table(
    Row("mov.copy", "w:q r:q", (), f"{_ARM}, MOV (register)", "other", copy=True, flags=""),
    Row("mov.const", "w:q r:i", (), f"{_ARM}, MOV (wide immediate)", "other", flags=""),
    Row("adrp", "w:q r:addr", (), f"{_ARM}, ADRP", "other", flags=""),
    Row("ldrb", "w:d r:m8", (), f"{_ARM}, LDRB", "load", flags=""),
    Row("ldr.x", "w:q r:m64", (), f"{_ARM}, LDR", "load", flags=""),
    Row("str.x", "w:m64 r:q", (), f"{_ARM}, STR", "store", flags=""),
    Row("ldp", "w:q w:q r:m128", (), f"{_ARM}, LDP", "load", flags=""),
    Row("stp", "w:m128 r:q r:q", (), f"{_ARM}, STP", "store", flags=""),
    Row("add.address", "w:q r:addr", (), f"{_ARM}, ADD (immediate)", "other", flags=""),
    Row("add.imm", "w:q r:q r:i", (), f"{_ARM}, ADD (immediate)", "other", flags=""),
    Row("add", "w:q r:q r:q", (), f"{_ARM}, ADD (shifted register)", "other", flags=""),
    Row("sub.imm", "w:q r:q r:i", (), f"{_ARM}, SUB (immediate)", "other", flags=""),
    Row("sub", "w:q r:q r:q", (), f"{_ARM}, SUB (shifted register)", "other", flags=""),
    Row("and.imm", "w:q r:q r:i", (), f"{_ARM}, AND (immediate)", "other", flags=""),
    Row("lsl.imm", "w:q r:q r:i", (), f"{_ARM}, LSL (immediate)", "other", flags=""),
    Row("lsr.imm", "w:q r:q r:i", (), f"{_ARM}, LSR (immediate)", "other", flags=""),
    Row("neg", "w:q r:q", (), f"{_ARM}, NEG (shifted register)", "other", flags=""),
    Row("cmp.imm", "r:q r:i", (), f"{_ARM}, CMP (immediate)", "other", flags="w", fuses=True),
    Row("b", "r:l", (), f"{_ARM}, B", "other", flags="", flow=Flow.JUMP),
    Row("b.lo", "r:l", (), f"{_ARM}, B.cond", "other", flags="r", flow=Flow.BRANCH),
    Row("b.hs", "r:l", (), f"{_ARM}, B.cond", "other", flags="r", flow=Flow.BRANCH),
    Row("b.eq", "r:l", (), f"{_ARM}, B.cond", "other", flags="r", flow=Flow.BRANCH),
    Row("b.ne", "r:l", (), f"{_ARM}, B.cond", "other", flags="r", flow=Flow.BRANCH),
    Row("cbz", "r:q r:l", (), f"{_ARM}, CBZ", "other", flags="", flow=Flow.BRANCH),
    Row("cbnz", "r:q r:l", (), f"{_ARM}, CBNZ", "other", flags="", flow=Flow.BRANCH),
    Row("ret", "", (), f"{_ARM}, RET", "other", flags="", flow=Flow.RETURN),
    RETURN_VALUE,
    Row("hint", "r:i", (), f"{_ARM}, HINT", "other", flags=""),
)
"""Rows of general registers and control flow."""

LOWER = lowering("""
    gpr_copy:           mov.copy d a
    gpr_const:          mov.const d i
    gpr_load8:          ldrb d m
    gpr_load64:         ldr.x d m
    gpr_address:        add.address d m
    gpr_add:            add.imm d a i
    gpr_sub:            sub.imm d a i
    gpr_minus:          sub d a b
    gpr_and:            and.imm d a i
    gpr_shl:            lsl.imm d a i
    gpr_shr:            lsr.imm d a i
    gpr_neg:            neg d a
    jump:               b l
    branch_below:       cmp.imm a i; b.lo l
    branch_not_below:   cmp.imm a i; b.hs l
    branch_equal:       cmp.imm a i; b.eq l
    branch_equal=0:     cbz a l
    branch_not_equal:   cmp.imm a i; b.ne l
    branch_not_equal=0: cbnz a l
    return:             ret
    return_value:       return.value a
""")
"""Lowering of the operations on general registers and of control flow."""
