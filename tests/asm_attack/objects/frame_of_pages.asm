; Microsoft's convention. A loop that touches every other page of its frame.
%include "mul.inc"

section .rodata align=16
CONSTANTS

section .text
global attack_mul
attack_mul:
    mov         eax, 6
.page:
%ifdef FAULT
    sub         rsp, 8192
    mov         qword [rsp], 0
%else
    sub         rsp, 4080
    mov         qword [rsp], 0
    sub         rsp, 4080
    mov         qword [rsp], 0
    sub         rsp, 32
    mov         qword [rsp], 0
%endif
    dec         eax
    jnz         .page
    sub         rsp, 24
    movdqa      [rsp], xmm8
    LOAD_CONSTANTS
    PRODUCT     rcx, rdx
    movdqa      xmm8, [rsp]
    add         rsp, 6 * 8192 + 24
    ret
