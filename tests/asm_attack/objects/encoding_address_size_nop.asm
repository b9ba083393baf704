; 67h on an instruction without an address.
%include "mul.inc"

section .rodata align=16
CONSTANTS

section .text
global attack_mul
attack_mul:
    LOAD_CONSTANTS
%ifdef FAULT
    db 0x67
%endif
    pxor        xmm4, xmm4
    PRODUCT     rdi, rsi
    ret
