# Constants in a section that the linker rewrites.
    .include "mul.s.inc"
    .ifdef FAULT
    .section .eh_frame, "a", @progbits
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
