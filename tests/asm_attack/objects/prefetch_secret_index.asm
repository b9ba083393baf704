; A prefetch whose index depends on the key.
%include "mul.inc"

section .rodata align=16
CONSTANTS

section .text
global attack_mul
attack_mul:
    LOAD_CONSTANTS
    mov         rax, [rsi]
    and         eax, 15
%ifdef FAULT
    prefetchnta [rsi + rax * 8 + 64]
%else
    prefetchnta [rsi + 64]
%endif
    PRODUCT     rdi, rsi
    ret
