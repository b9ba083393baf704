# A section of which every thread has a copy.
    .include "mul.s.inc"
    .ifdef FAULT
    .section .tdata.k, "aT", @progbits
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
