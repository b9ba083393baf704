; The object says IBT in a note of another name, which GNU ld reads all the same.
%include "mul.inc"

%ifdef FAULT
section .note.other note alloc noexec align=8
    dd 4, 16, 5
    db "GNU", 0
    dd 0xc0000002, 4, 3, 0
%endif

section .rodata align=16
CONSTANTS

section .text
global attack_mul
attack_mul:
    LOAD_CONSTANTS
    PRODUCT     rdi, rsi
    ret
