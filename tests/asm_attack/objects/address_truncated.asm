; An address cut off to 32 bits: right only in an image below 4 GiB.
%include "mul.inc"

section .rodata align=16
CONSTANTS

section .text
global attack_mul
attack_mul:
%ifdef FAULT
    lea         eax, [fold_constant]
%else
    lea         rax, [fold_constant]
%endif
    movdqa      xmm2, [rax]
    movdqa      xmm1, [reverse_bytes]
    PRODUCT     rdi, rsi
    ret
