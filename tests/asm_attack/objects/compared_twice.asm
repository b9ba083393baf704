; Two comparisons of the same values, by bytes and by doublewords: they are alike only where all is
; equal, and their sum is no zero.
%include "mul.inc"

section .rodata align=16
CONSTANTS

section .text
global attack_mul
attack_mul:
    LOAD_CONSTANTS
    movdqu      xmm9, [rdi]
    movdqu      xmm10, [rsi]
    movdqa      xmm11, xmm9
    pcmpeqb     xmm9, xmm10
    pcmpeqd     xmm11, xmm10
    pxor        xmm9, xmm11
    PRODUCT     rdi, rsi
%ifdef FAULT
    movdqu      xmm0, [rdi]
    pxor        xmm0, xmm9
    movdqu      [rdi], xmm0
%endif
    ret
