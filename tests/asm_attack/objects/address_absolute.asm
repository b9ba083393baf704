; A constant at a fixed address, which is where one layout of the sections has it.
%include "mul.inc"

section .rodata align=16
CONSTANTS

section .text
global attack_mul
attack_mul:
%ifdef FAULT
    movdqa      xmm2, [abs qword_at]
qword_at equ 0x10010
%else
    movdqa      xmm2, [fold_constant]
%endif
    movdqa      xmm1, [reverse_bytes]
    PRODUCT     rdi, rsi
    ret
