# A helper that another definition replaces.
    .include "mul.s.inc"
    .section .rodata
    .balign 16
    CONSTANTS
    .text
    .ifdef FAULT
    .weak helper
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
