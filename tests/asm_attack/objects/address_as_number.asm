; The number that an address is in one layout of the sections, as a constant of the sum.
%include "mul.inc"

section .rodata align=16
CONSTANTS

section .text
global attack_mul
attack_mul:
    LOAD_CONSTANTS
%ifdef FAULT
    lea         rax, [fold_constant]
    movq        xmm9, rax
    mov         eax, 0x10010
    movq        xmm10, rax
    pxor        xmm2, xmm9
    pxor        xmm2, xmm10
%endif
    PRODUCT     rdi, rsi
    ret
