# A symbol of which the dynamic linker keeps one in the whole process.
    .include "mul.s.inc"
    .section .rodata
    .balign 16
    CONSTANTS
    .text
    .ifdef FAULT
    .type attack_mul, @gnu_unique_object
    .else
    .globl attack_mul
    .type attack_mul, @function
    .endif
attack_mul:
    LOAD_CONSTANTS
    PRODUCT
    ret
