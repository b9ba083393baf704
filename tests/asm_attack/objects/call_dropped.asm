; The return address of a call is dropped, and control goes on.
%include "mul.inc"

section .rodata align=16
CONSTANTS

section .text
global attack_mul
attack_mul:
    LOAD_CONSTANTS
    call        .part
%ifndef FAULT
    ret
%endif
.part:
    PRODUCT     rdi, rsi
%ifdef FAULT
    add         rsp, 8
%endif
    ret
