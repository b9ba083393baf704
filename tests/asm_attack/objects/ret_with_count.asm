; RET imm16 moves the stack pointer of a caller who has pushed nothing.
%include "mul.inc"

section .rodata align=16
CONSTANTS

section .text
global attack_mul
attack_mul:
    LOAD_CONSTANTS
    PRODUCT     rdi, rsi
%ifdef FAULT
    ret         16
%else
    ret
%endif
