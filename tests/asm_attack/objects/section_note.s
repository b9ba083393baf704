# Constants in a note, which tools merge, move and strip.
    .include "mul.s.inc"
    .ifdef FAULT
    .section .note.constants, "a", @note
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
