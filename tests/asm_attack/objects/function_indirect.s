# An IFUNC: what is called is what this returns.
    .include "mul.s.inc"
    .section .rodata
    .balign 16
    CONSTANTS
    .text
    .globl attack_mul
    .ifdef FAULT
    .type attack_mul, @gnu_indirect_function
    .else
    .type attack_mul, @function
    .endif
attack_mul:
    LOAD_CONSTANTS
    PRODUCT
    ret
