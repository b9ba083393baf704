# Code that anybody may write.
    .include "mul.s.inc"
    .section .rodata
    .balign 16
    CONSTANTS
    .ifdef FAULT
    .section .code.w, "axw", @progbits
    .else
    .text
    .endif
    .globl attack_mul
    .type attack_mul, @function
attack_mul:
    LOAD_CONSTANTS
    PRODUCT
    ret
