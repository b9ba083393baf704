; A branch hint, which was a segment prefix, and again means something on newer CPUs.
%include "mul.inc"

section .rodata align=16
CONSTANTS

section .text
global attack_mul
attack_mul:
    LOAD_CONSTANTS
    xor         eax, eax
%ifdef FAULT
    db 0x3e
%endif
    db 0x74, .there - .after
.after:
    int3
.there:
    PRODUCT     rdi, rsi
    ret
