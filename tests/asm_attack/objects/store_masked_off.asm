; A store that is masked off, at an address that depends on the state: it may fault or be seen.
%include "mul.inc"

section .rodata align=16
CONSTANTS

section .text
global attack_mul
attack_mul:
    LOAD_CONSTANTS
    mov         rax, [rdi]
    kxorq       k1, k1, k1
%ifdef FAULT
    vmovdqu8    [rdi + rax]{k1}, xmm0
%else
    vmovdqu8    [rdi]{k1}, xmm0
%endif
    PRODUCT     rdi, rsi
    ret
