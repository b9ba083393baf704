; A NOP with a segment that means something; without it, what GNU as writes to align.
%include "mul.inc"

section .rodata align=16
CONSTANTS

section .text
global attack_mul
attack_mul:
    LOAD_CONSTANTS
%ifdef FAULT
    db 0x66, 0x64, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0
%else
    db 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0
%endif
    PRODUCT     rdi, rsi
    ret
