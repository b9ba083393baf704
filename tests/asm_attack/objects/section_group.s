# The linker may keep the group of the same name of another object instead.
    .include "mul.s.inc"
    .ifdef FAULT
    .section .rodata.group, "aG", @progbits, attack_constants, comdat
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
