; A displacement without a relocation, from one section into another.
%include "mul.inc"

section .rodata align=16
CONSTANTS

section .text
global attack_mul
attack_mul:
    movdqa      xmm1, [reverse_bytes]
%ifdef FAULT
    db 0x66, 0x0f, 0x6f, 0x15       ; movdqa xmm2, [rip + disp32]
    dd 0x10010 - (0x11040 + (.after - attack_mul))
.after:
%else
    movdqa      xmm2, [fold_constant]
%endif
    PRODUCT     rdi, rsi
    ret
