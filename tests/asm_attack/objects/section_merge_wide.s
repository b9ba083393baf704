# Mergeable constants of 8 bytes: no 16 of them are known to stay together, nor to be aligned.
    .include "mul.s.inc"
    .ifdef FAULT
    .section .rodata.cst8, "aM", @progbits, 8
    .else
    .section .rodata.cst16, "aM", @progbits, 16
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
