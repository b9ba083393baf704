; A jump made of PUSH and RET.
%include "mul.inc"

section .rodata align=16
CONSTANTS

section .text
global attack_mul
attack_mul:
    LOAD_CONSTANTS
    PRODUCT     rdi, rsi
%ifdef FAULT
    lea         rax, [.end]
    push        rax
    ret
%endif
.end:
    ret
