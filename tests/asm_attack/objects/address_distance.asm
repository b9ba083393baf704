; A constant reached from a symbol of another section, at the distance of one layout.
%include "mul.inc"

section .rodata align=16
reverse_bytes: db 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0
times 48 db 0

section .rodata.more progbits alloc noexec nowrite align=16
fold_constant: dq 0xc200000000000000, 0

section .text
global attack_mul
attack_mul:
    lea         rax, [reverse_bytes]
    movdqa      xmm1, [rax]
%ifdef FAULT
    movdqa      xmm2, [rax + 0x1040]
%else
    movdqa      xmm2, [fold_constant]
%endif
    PRODUCT     rdi, rsi
    ret
