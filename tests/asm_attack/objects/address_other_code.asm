; A jump without a relocation into another section of code.
%include "mul.inc"

section .rodata align=16
CONSTANTS

section .text.part progbits alloc exec nowrite align=16
part:
    PRODUCT     rdi, rsi
    ret
part_end:

section .text.main progbits alloc exec nowrite align=16
global attack_mul
attack_mul:
    LOAD_CONSTANTS
%ifdef FAULT
    db 0xe9
    dd part_at - main_at - (.after - attack_mul)
.after:
%else
    jmp         part
%endif
part_at equ 0x11040
main_at equ (part_at + (part_end - part) + 0x1000 + 63) / 64 * 64
