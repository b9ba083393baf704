# A constant that another definition replaces.
    .include "mul.s.inc"
    .section .rodata
    .balign 16
    .ifdef FAULT
    .weak fold_constant
    .else
    .globl fold_constant
    .hidden fold_constant
    .endif
    CONSTANTS
    .text
    .globl attack_mul
    .type attack_mul, @function
attack_mul:
    LOAD_CONSTANTS
    PRODUCT
    ret
