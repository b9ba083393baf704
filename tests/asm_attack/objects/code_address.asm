; A computed jump: its target has no ENDBR64, and its address is data.
%include "mul.inc"

section .rodata align=16
CONSTANTS

section .text
global attack_mul
attack_mul:
    LOAD_CONSTANTS
%ifdef FAULT
    lea         rax, [.there]
    jmp         rax
%else
    jmp         .there
%endif
    int3
.there:
    PRODUCT     rdi, rsi
    ret
