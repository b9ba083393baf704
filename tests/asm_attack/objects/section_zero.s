# Constants that are zeros by the type of their section.
    .include "mul.s.inc"
    .ifdef FAULT
    .section .zeros, "a", @nobits
    .balign 16
zero: .skip 16
    .else
    .section .rodata.zero, "a", @progbits
    .balign 16
zero: .skip 16
    .endif
    .section .rodata
    .balign 16
    CONSTANTS
    .text
    .globl attack_mul
    .type attack_mul, @function
attack_mul:
    pxor        xmm9, zero[rip]
    LOAD_CONSTANTS
    PRODUCT
    ret
