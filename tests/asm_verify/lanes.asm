; A hand-written 256-bit GHASH update with one Horner accumulator a lane: the lanes are multiplied by
; H^2 each turn and folded together only at the end. Spills one block to an aligned stack buffer.
;
;   void lanes_update(const uint8_t table[32], uint8_t x[16], const uint8_t *in, size_t len);
;
; len is a multiple of 16. The table holds the reflected registers of H^i times x^-1 for i = 2, 1.

default rel
bits 64

section .rodata align=32
reverse_bytes: times 2 db 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0
fold_constant: times 2 dq 0xc200000000000000, 0

section .text

; ymm0 = ymm0 * %1, reduced in each lane.
%macro MULTIPLY 1
    vpclmulqdq  ymm2, ymm0, %1, 0x00
    vpclmulqdq  ymm3, ymm0, %1, 0x01
    vpclmulqdq  ymm4, ymm0, %1, 0x10
    vpclmulqdq  ymm5, ymm0, %1, 0x11
    vpxor       ymm3, ymm3, ymm4
    vpslldq     ymm4, ymm3, 8
    vpsrldq     ymm3, ymm3, 8
    vpxor       ymm2, ymm2, ymm4
    vpxor       ymm5, ymm5, ymm3
    vpshufd     ymm3, ymm2, 0x4e
    vpclmulqdq  ymm2, ymm2, ymm7, 0x00
    vpxor       ymm2, ymm2, ymm3
    vpshufd     ymm3, ymm2, 0x4e
    vpclmulqdq  ymm2, ymm2, ymm7, 0x00
    vpxor       ymm2, ymm2, ymm3
    vpxor       ymm0, ymm2, ymm5
%endmacro

global lanes_update
lanes_update:
    push        rbp
    mov         rbp, rsp
    sub         rsp, 64
    and         rsp, -32
    vmovdqa     ymm6, [reverse_bytes]
    vmovdqa     ymm7, [fold_constant]
    vmovdqu     xmm0, [rsi]
    vpshufb     xmm0, xmm0, xmm6
    cmp         rcx, 32
    jb          .last
    ; (H^2, H^2) and (H^2, H^1)
    vbroadcasti128 ymm8, [rdi]
    vmovdqu     ymm9, [rdi]
    vmovdqu     ymm1, [rdx]
    vpshufb     ymm1, ymm1, ymm6
    vpxor       ymm0, ymm0, ymm1
    add         rdx, 32
    sub         rcx, 32
    jmp         .check
.turn:
    MULTIPLY    ymm8
    vmovdqu     ymm1, [rdx]
    vpshufb     ymm1, ymm1, ymm6
    vpxor       ymm0, ymm0, ymm1
    add         rdx, 32
    sub         rcx, 32
.check:
    cmp         rcx, 32
    jae         .turn
    MULTIPLY    ymm9
    vmovdqa     [rsp], ymm0
    vmovdqa     xmm0, [rsp]
    vpxor       xmm0, xmm0, [rsp + 16]
.last:
    test        rcx, rcx
    jz          .done
    vmovdqu     xmm1, [rdx]
    vpshufb     xmm1, xmm1, xmm6
    vpxor       xmm0, xmm0, xmm1
    vmovdqu     xmm1, [rdi + 16]
    MULTIPLY    ymm1
.done:
    vpshufb     xmm0, xmm0, xmm6
    vmovdqu     [rsi], xmm0
    vzeroupper
    leave
    ret

section .note.GNU-stack noalloc noexec nowrite progbits
