; RET at another place than the CALL's, to the same address.
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
    push        rax
    mov         [rsp - 8], rax
    pop         rax
    add         rsp, 8
    sub         rsp, 8
    ret
%else
    ret
%endif
