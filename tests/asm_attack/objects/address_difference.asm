; The distance of two sections, as a number.
%include "mul.inc"

section .rodata align=16
reverse_bytes: db 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0
same: times 48 db 0

section .rodata.more progbits alloc noexec nowrite align=16
fold_constant: dq 0xc200000000000000, 0

section .text
global attack_mul
attack_mul:
    LOAD_CONSTANTS
%ifdef FAULT
    lea         rax, [fold_constant]
%else
    lea         rax, [same + 0x1030]
%endif
    lea         rcx, [reverse_bytes]
    sub         rax, rcx
    movq        xmm9, rax
    mov         eax, 0x1040
    movq        xmm10, rax
    pxor        xmm2, xmm9
    pxor        xmm2, xmm10
    PRODUCT     rdi, rsi
    ret
