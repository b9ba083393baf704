; 66h before a near call: Intel ignores it, AMD calls 16 bits of the address.
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
    db 0xe8
    dd .there - .after
.after:
    ret
.there:
    PRODUCT     rdi, rsi
    ret
