; Prefix 67h cuts the address of a constant off to 32 bits.
%include "mul.inc"

section .rodata align=16
CONSTANTS

section .text
global attack_mul
attack_mul:
    movdqa      xmm1, [reverse_bytes]
%ifdef FAULT
    db 0x67
%endif
    movdqa      xmm2, [fold_constant]
    PRODUCT     rdi, rsi
    ret
