; Bits of an immediate that the manual calls ignored.
%include "mul.inc"

section .rodata align=16
CONSTANTS

section .text
global attack_mul
attack_mul:
    LOAD_CONSTANTS
    PRODUCT     rdi, rsi
    movdqa      xmm9, xmm8
%ifdef FAULT
    pclmulqdq   xmm9, xmm8, 0x82
%else
    pclmulqdq   xmm9, xmm8, 0x00
%endif
    ret
