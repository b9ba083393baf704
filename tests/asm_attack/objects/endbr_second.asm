; The object says IBT, and ENDBR64 is its function's second instruction.
%include "mul.inc"

section .note.gnu.property note alloc noexec align=8
    dd 4, 16, 5
    db "GNU", 0
    dd 0xc0000002, 4, 3, 0

section .rodata align=16
CONSTANTS

section .text
global attack_mul
attack_mul:
%ifdef FAULT
    nop
%endif
    endbr64
    LOAD_CONSTANTS
    PRODUCT     rdi, rsi
    ret
