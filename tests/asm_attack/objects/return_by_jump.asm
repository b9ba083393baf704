; The return address popped and jumped to: a shadow stack keeps it.
%include "mul.inc"

section .rodata align=16
CONSTANTS

section .text
global attack_mul
attack_mul:
    LOAD_CONSTANTS
    PRODUCT     rdi, rsi
%ifdef FAULT
    pop         rax
    jmp         rax
%else
    ret
%endif
