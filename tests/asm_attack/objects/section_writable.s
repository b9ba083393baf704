# Constants that anybody may write.
    .include "mul.s.inc"
    .ifdef FAULT
    .section .data, "aw", @progbits
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
