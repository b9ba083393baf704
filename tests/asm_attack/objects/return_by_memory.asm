; A jump through the return address where it stands.
%include "mul.inc"

section .rodata align=16
CONSTANTS

section .text
global attack_mul
attack_mul:
    LOAD_CONSTANTS
    PRODUCT     rdi, rsi
%ifdef FAULT
    add         rsp, 8
    jmp         [rsp - 8]
%else
    ret
%endif
