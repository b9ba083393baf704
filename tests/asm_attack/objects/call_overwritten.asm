; A called part writes its own return address anew.
%include "mul.inc"

section .rodata align=16
CONSTANTS

section .text
global attack_mul
attack_mul:
    LOAD_CONSTANTS
    call        .part
.back:
    ret
.part:
    PRODUCT     rdi, rsi
%ifdef FAULT
    mov         rax, [rsp]
    mov         [rsp], rax
%endif
    ret
