# A helper that a shared library calls through its PLT, where another definition may come first.
    .include "mul.s.inc"
    .section .rodata
    .balign 16
    CONSTANTS
    .text
    .ifdef FAULT
    .globl helper
    .else
    .globl helper
    .hidden helper
    .endif
    .type helper, @function
helper:
    PRODUCT
    ret
    .globl attack_mul
    .type attack_mul, @function
attack_mul:
    LOAD_CONSTANTS
    call        helper@plt
    ret
