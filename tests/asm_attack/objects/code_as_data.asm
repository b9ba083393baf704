; Constants among code, which a system may map to be executed only.
%include "mul.inc"

section .rodata align=16
CONSTANTS

section .text
global attack_mul
attack_mul:
    LOAD_CONSTANTS
%ifdef FAULT
    movdqa      xmm2, [.here]
%endif
    PRODUCT     rdi, rsi
    ret
align 16
.here: dq 0xc200000000000000, 0
