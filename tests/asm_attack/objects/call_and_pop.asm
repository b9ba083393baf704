; CALL to the next instruction and POP: a shadow stack keeps the address.
%include "mul.inc"

section .rodata align=16
CONSTANTS

section .text
global attack_mul
attack_mul:
    LOAD_CONSTANTS
%ifdef FAULT
    call        .next
.next:
    pop         rax
%endif
    PRODUCT     rdi, rsi
    ret
