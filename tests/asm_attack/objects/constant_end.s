# A constant under a name that the GNU linker's script assigns: what is there is what comes last.
    .include "mul.s.inc"
    .section .rodata
    .balign 16
    CONSTANTS
    .ifdef FAULT
    .globl _end
    .hidden _end
_end:
    .else
    .globl last
    .hidden last
last:
    .endif
    .quad 0xc200000000000000, 0
    .text
    .globl attack_mul
    .type attack_mul, @function
attack_mul:
    LOAD_CONSTANTS
    .ifdef FAULT
    movdqu      xmm2, _end[rip]
    .else
    movdqu      xmm2, last[rip]
    .endif
    PRODUCT
    ret
