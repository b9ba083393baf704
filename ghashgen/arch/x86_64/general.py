"""Shared by all x86-64 instruction sets: lowering to general registers and branches.

Only instructions without fixed registers are used, so that the allocator is free.
"""

from ghashgen.arch.rows import lowering

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
    branch_differs:     cmp.reg a b; jne l
    return:             ret
    return_value:       return.value a
""")
"""Lowering of the operations on general registers and of control flow."""
