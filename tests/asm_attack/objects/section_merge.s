# The linker shares and moves what a section of mergeable constants holds.
    .include "mul.s.inc"
    .ifdef FAULT
    .section .rodata.cst16, "aM", @progbits, 16
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
