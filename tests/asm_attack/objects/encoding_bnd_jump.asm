; F2h before a jump was MPX's: it means something on some CPUs, nothing on others.
%include "mul.inc"

section .rodata align=16
CONSTANTS

section .text
global attack_mul
attack_mul:
    LOAD_CONSTANTS
%ifdef FAULT
    db 0xf2
%endif
    db 0xe9
    dd .there - .after
.after:
    int3
.there:
    PRODUCT     rdi, rsi
    ret
