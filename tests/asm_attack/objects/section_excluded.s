# A section that the linker leaves out.
    .include "mul.s.inc"
    .ifdef FAULT
    .section .rodata.gone, "ae", @progbits
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
