; VEX.W where the manual says that it is ignored.
%include "mul.inc"

section .rodata align=16
CONSTANTS

section .text
global attack_mul
attack_mul:
    LOAD_CONSTANTS
%ifdef FAULT
    db 0xc4, 0xe1, 0xd9, 0xef, 0xe4
%else
    vpxor       xmm4, xmm4, xmm4
%endif
    PRODUCT     rdi, rsi
    ret
