; A table of code addresses.
%include "mul.inc"

section .rodata align=16
CONSTANTS
%ifdef FAULT
table: dq attack_mul.there
%endif

section .text
global attack_mul
attack_mul:
    LOAD_CONSTANTS
%ifdef FAULT
    jmp         [table]
%else
    jmp         .there
%endif
    int3
.there:
    PRODUCT     rdi, rsi
    ret
