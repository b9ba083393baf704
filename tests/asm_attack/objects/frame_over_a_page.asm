; Microsoft's convention: rcx is the state, rdx the table. A frame larger than a page of which the
; first touch is beyond the guard page.
%include "mul.inc"

section .rodata align=16
CONSTANTS

section .text
global attack_mul
attack_mul:
%ifdef FAULT
    sub         rsp, 8216
%else
    sub         rsp, 4056
    mov         qword [rsp], 0
    sub         rsp, 4080
    mov         qword [rsp], 0
    sub         rsp, 80
%endif
    movdqa      [rsp], xmm8
    LOAD_CONSTANTS
    PRODUCT     rcx, rdx
    movdqa      xmm8, [rsp]
    add         rsp, 8216
    ret
