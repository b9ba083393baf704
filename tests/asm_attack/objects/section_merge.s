# The linker shares and moves each of the mergeable constants by itself: what lies behind one is
# another one.
    .include "mul.s.inc"
    .section .rodata.cst16, "aM", @progbits, 16
    .balign 16
    CONSTANTS
    .text
    .globl attack_mul
    .type attack_mul, @function
attack_mul:
    movdqa      xmm1, reverse_bytes[rip]
    .ifdef FAULT
    movdqa      xmm2, reverse_bytes[rip + 16]
    .else
    movdqa      xmm2, fold_constant[rip]
    .endif
    PRODUCT
    ret
