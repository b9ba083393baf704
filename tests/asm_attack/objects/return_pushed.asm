; RET to an address that was computed.
%include "mul.inc"

section .rodata align=16
CONSTANTS

section .text
global attack_mul
attack_mul:
    LOAD_CONSTANTS
    PRODUCT     rdi, rsi
%ifdef FAULT
    mov         rax, [rsp]
    dec         rax
    push        rax
    ret         8
%else
    ret
%endif
