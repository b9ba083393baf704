; A jump to one byte before the return address.
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
    dec         rax
    jmp         rax
%else
    ret
%endif
