; A hand-written 512-bit GHASH update: four blocks a turn in the lanes of one register, one
; reduction a turn, the last 1 to 63 bytes through a masked load.
;
;   void wide_update(const uint8_t table[64], uint8_t x[16], const uint8_t *in, size_t len);
;
; The table holds the reflected registers of H^i times x^-1 for i = 4, 3, 2, 1, in this order.

default rel
bits 64

section .rodata align=64
reverse_bytes: times 4 db 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0
fold_constant: dq 0xc200000000000000, 0

section .text

; xmm0 = the sum over lanes of zmm0 * zmm1, reduced.
%macro MULTIPLY 0
    vpclmulqdq  zmm2, zmm0, zmm1, 0x00
    vpclmulqdq  zmm3, zmm0, zmm1, 0x01
    vpclmulqdq  zmm4, zmm0, zmm1, 0x10
    vpclmulqdq  zmm5, zmm0, zmm1, 0x11
    vpxorq      zmm3, zmm3, zmm4
    vpslldq     zmm4, zmm3, 8
    vpsrldq     zmm3, zmm3, 8
    vpxorq      zmm2, zmm2, zmm4
    vpxorq      zmm5, zmm5, zmm3
    vextracti64x4 ymm3, zmm2, 1
    vextracti64x4 ymm4, zmm5, 1
    vpxorq      ymm2, ymm2, ymm3
    vpxorq      ymm5, ymm5, ymm4
    vextracti32x4 xmm3, ymm2, 1
    vextracti32x4 xmm4, ymm5, 1
    vpxorq      xmm2, xmm2, xmm3
    vpxorq      xmm5, xmm5, xmm4
    vpshufd     xmm3, xmm2, 0x4e
    vpclmulqdq  xmm2, xmm2, xmm17, 0x00
    vpxorq      xmm2, xmm2, xmm3
    vpshufd     xmm3, xmm2, 0x4e
    vpclmulqdq  xmm2, xmm2, xmm17, 0x00
    vpternlogq  xmm2, xmm3, xmm5, 0x96
    vmovdqa64   xmm0, xmm2
%endmacro

global wide_update
wide_update:
    vmovdqu64   zmm16, [reverse_bytes]
    vmovdqu64   xmm17, [fold_constant]
    vmovdqu     xmm0, [rsi]
    vpshufb     xmm0, xmm0, xmm16
    cmp         rcx, 64
    jb          .tail
    vmovdqu64   zmm1, [rdi]
.turn:
    vmovdqu64   zmm6, [rdx]
    vpshufb     zmm6, zmm6, zmm16
    vpxorq      zmm0, zmm0, zmm6
    MULTIPLY
    add         rdx, 64
    sub         rcx, 64
    cmp         rcx, 64
    jae         .turn
.tail:
    test        rcx, rcx
    jz          .done
    mov         rax, -1
    bzhi        rax, rax, rcx
    kmovq       k1, rax
    vmovdqu8    zmm6{k1}{z}, [rdx]
    vpshufb     zmm6, zmm6, zmm16
    vpxorq      zmm0, zmm0, zmm6
    ; m = ceil(rest / 16) keys H^m .. H^1 stand at the end of the table.
    add         rcx, 15
    shr         rcx, 4
    lea         r8, [rcx + rcx]
    mov         rax, -1
    bzhi        rax, rax, r8
    kmovb       k2, eax
    neg         rcx
    shl         rcx, 4
    vmovdqu64   zmm1{k2}{z}, [rdi + rcx + 64]
    MULTIPLY
.done:
    vpshufb     xmm0, xmm0, xmm16
    vmovdqu     [rsi], xmm0
    vzeroupper
    ret

section .note.GNU-stack noalloc noexec nowrite progbits
