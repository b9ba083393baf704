; What is computed depends on where the object is loaded.
%include "mul.inc"

section .rodata align=16
CONSTANTS

section .text
global attack_mul
attack_mul:
    LOAD_CONSTANTS
    lea         rax, [fold_constant]
%ifdef FAULT
    cmp         rax, 0x20000
%else
    xor         eax, eax
    cmp         rax, 0x20000
%endif
    ja          .skip
    PRODUCT     rdi, rsi
.skip:
    ret
