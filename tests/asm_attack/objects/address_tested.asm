; A bit of an address, right where the section begins at a multiple of 32.
%include "mul.inc"

section .rodata align=16
CONSTANTS

section .text
global attack_mul
attack_mul:
    LOAD_CONSTANTS
%ifdef FAULT
    lea         rax, [reverse_bytes]
%else
    mov         eax, 64
%endif
    test        al, 16
    jnz         .skip
    PRODUCT     rdi, rsi
.skip:
    ret
