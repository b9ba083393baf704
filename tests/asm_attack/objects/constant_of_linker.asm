; An address among the constants, loaded as a number: right in one layout.
%include "mul.inc"

section .rodata align=16
CONSTANTS
%ifdef FAULT
number: dq fold_constant, 0
%else
number: dq 0x10010, 0
%endif

section .text
global attack_mul
attack_mul:
    LOAD_CONSTANTS
    movdqa      xmm9, [number]
    mov         eax, 0x10010
    movq        xmm10, rax
    pxor        xmm2, xmm9
    pxor        xmm2, xmm10
    PRODUCT     rdi, rsi
    ret
