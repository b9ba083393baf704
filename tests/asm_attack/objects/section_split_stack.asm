; A function that asks for a part of a split stack. As a function that it never calls has none, gold
; and LLD make it ask for more: they rewrite the displacement of its LEA.
%include "mul.inc"

%ifdef FAULT
section .note.GNU-split-stack noalloc noexec nowrite progbits
%endif

section .rodata align=16
CONSTANTS

section .text
extern other
global attack_mul:function (attack_mul.end - attack_mul)
attack_mul:
    lea         r10, [rsp-256]
    sub         r10, rsp
    add         r10, 256
    jnz         .done
    LOAD_CONSTANTS
    PRODUCT     rdi, rsi
.done:
    ret
    call        other wrt ..plt
.end:
