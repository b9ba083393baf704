; Two return addresses in two sections, read from their slots when the calls are over: how far apart
; they are is the linker's choice. Where it is not DISTANCE, as a prover took it to be that put the
; sections side by side itself, nothing is multiplied.
%include "mul.inc"

%define DISTANCE 0x10b0

section .rodata align=16
CONSTANTS

section .text
global attack_mul
attack_mul:
    LOAD_CONSTANTS
    call        done
%ifdef FAULT
    mov         rax, [rsp - 8]
%endif
    call        other
%ifdef FAULT
    sub         rcx, rax
    cmp         rcx, DISTANCE
    jne         .nothing
%endif
    PRODUCT     rdi, rsi
.nothing:
    ret
done:
    ret

section .text.other progbits alloc exec nowrite align=16
other:
    call        .back
%ifdef FAULT
    mov         rcx, [rsp - 8]
%endif
.back:
    ret
