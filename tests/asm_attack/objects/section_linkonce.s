# A section of which the linker keeps one, by its name.
    .include "mul.s.inc"
    .ifdef FAULT
    .section .gnu.linkonce.r.constants, "a", @progbits
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
