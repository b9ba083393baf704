; REX before a legacy prefix is ignored by every CPU, and by not every decoder.
%include "mul.inc"

section .rodata align=16
CONSTANTS

section .text
global attack_mul
attack_mul:
    LOAD_CONSTANTS
%ifdef FAULT
    db 0x45
%endif
    db 0x66, 0x0f, 0xef, 0xe4       ; pxor xmm4, xmm4
    PRODUCT     rdi, rsi
    ret
