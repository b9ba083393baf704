; 66h before a conditional near jump: Intel ignores it, AMD jumps to 16 bits of the address.
%include "mul.inc"

section .rodata align=16
CONSTANTS

section .text
global attack_mul
attack_mul:
    LOAD_CONSTANTS
    test        rdi, rdi
%ifdef FAULT
    xor         eax, eax
    db 0x66
%else
    xor         eax, eax
%endif
    db 0x0f, 0x84
    dd .there - .after
.after:
    int3
.there:
    PRODUCT     rdi, rsi
    ret
