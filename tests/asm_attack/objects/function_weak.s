# A function that another object's definition replaces.
    .include "mul.s.inc"
    .section .rodata
    .balign 16
    CONSTANTS
    .text
    .ifdef FAULT
    .weak attack_mul
    .else
    .globl attack_mul
    .endif
    .type attack_mul, @function
attack_mul:
    LOAD_CONSTANTS
    PRODUCT
    ret
