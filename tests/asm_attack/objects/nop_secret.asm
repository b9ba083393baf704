; A NOP with a memory operand at an address that depends on the state.
%include "mul.inc"

section .rodata align=16
CONSTANTS

section .text
global attack_mul
attack_mul:
    LOAD_CONSTANTS
    mov         rax, [rdi]
%ifdef FAULT
    nop         dword [rsi + rax]
%else
    nop         dword [rsi]
%endif
    PRODUCT     rdi, rsi
    ret
