; Constants at an address that is rounded by more than a page: loaders place a program by pages, and
; not all of them by what its segments ask for beyond.
%include "mul.inc"
%ifdef FAULT
    %define ROUNDED 65536
%else
    %define ROUNDED 4096
%endif
section .rodata align=ROUNDED
    CONSTANTS

section .text
global attack_mul
attack_mul:
    lea         rax, [fold_constant]
    and         rax, -ROUNDED
    movdqa      xmm1, [rax]
    movdqa      xmm2, [rax + 16]
    PRODUCT     rdi, rsi
    ret
