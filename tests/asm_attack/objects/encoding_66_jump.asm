; 66h before a near jump: Intel ignores it, AMD jumps to 16 bits of the address.
%include "mul.inc"

section .rodata align=16
CONSTANTS

section .text
global attack_mul
attack_mul:
    LOAD_CONSTANTS
%ifdef FAULT
    db 0x66
%endif
    db 0xe9
    dd .there - .after
.after:
    int3
.there:
    PRODUCT     rdi, rsi
    ret
