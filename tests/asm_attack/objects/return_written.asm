; A function writes its own return address, by the value that it has.
%include "mul.inc"

section .rodata align=16
CONSTANTS

section .text
global attack_mul
attack_mul:
    LOAD_CONSTANTS
    PRODUCT     rdi, rsi
%ifdef FAULT
    mov         byte [rsp + 7], 0
%endif
    ret
