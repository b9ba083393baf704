; REX.W where it has no meaning.
%include "mul.inc"

section .rodata align=16
CONSTANTS

section .text
global attack_mul
attack_mul:
    LOAD_CONSTANTS
%ifdef FAULT
    db 0x66, 0x48, 0x0f, 0xef, 0xe4
%else
    db 0x66, 0x0f, 0xef, 0xe4       ; pxor xmm4, xmm4
%endif
    PRODUCT     rdi, rsi
    ret
