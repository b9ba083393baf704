; An address rounded down by more than the section is aligned to.
%include "mul.inc"

section .rodata align=16
CONSTANTS

section .text
global attack_mul
attack_mul:
    movdqa      xmm1, [reverse_bytes]
    lea         rax, [fold_constant + 15]
%ifdef FAULT
    and         rax, -64
    movdqa      xmm2, [rax + 16]
%else
    and         rax, -16
    movdqa      xmm2, [rax]
%endif
    PRODUCT     rdi, rsi
    ret
