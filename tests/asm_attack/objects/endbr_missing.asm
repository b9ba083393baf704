; The object says IBT, and its function does not begin with ENDBR64.
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
%ifndef FAULT
    endbr64
%endif
    LOAD_CONSTANTS
    PRODUCT     rdi, rsi
    ret
