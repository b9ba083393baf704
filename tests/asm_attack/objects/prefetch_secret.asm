; A prefetch at an address that depends on the state.
%include "mul.inc"

section .rodata align=16
CONSTANTS

section .text
global attack_mul
attack_mul:
    LOAD_CONSTANTS
    movq        xmm9, [rdi]
    movq        rax, xmm9
    and         eax, 0xfc0
%ifdef FAULT
    prefetcht0  [rsi + rax]
%else
    prefetcht0  [rsi + rdx]
%endif
    PRODUCT     rdi, rsi
    ret
