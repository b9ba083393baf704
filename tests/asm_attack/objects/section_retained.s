# A section with a flag that is not known.
    .include "mul.s.inc"
    .ifdef FAULT
    .section .rodata.kept, "aR", @progbits
    .else
    .section .rodata
    .endif
    .balign 16
    CONSTANTS
    .text
    .globl attack_mul
    .type attack_mul, @function
attack_mul:
    LOAD_CONSTANTS
    PRODUCT
    ret
