; A GHASH routine written by hand, in the manner of the libraries that this package does not emit:
;
;   void foreign_init(uint8_t table[64], const uint8_t h[16]);
;   void foreign_gmult(uint8_t x[16], const uint8_t table[64]);
;   void foreign_ghash(uint8_t x[16], const uint8_t table[64], const uint8_t *in, size_t len);
;
; len is a multiple of 16. The table holds, at byte 16*(i-1), H^i times x^-1 as a reflected register
; (i = 1..4); it is 16-byte aligned. Four blocks are aggregated per reduction, the rest go one by
; one. Schoolbook products; two folds by 0xC2 << 56. Intel syntax, System V, SSSE3 and PCLMULQDQ.

default rel
bits 64

section .rodata align=16
reverse_bytes: db 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0
fold_constant: dq 0xc200000000000000, 0
top_bits:      dq 1, 0xc200000000000000

section .text

; The products of xmm0 and a key, added to (xmm3, xmm4, xmm5) = (low, middle, high).
; Uses xmm6 and xmm7.
%macro ADD_PRODUCT 1
    movdqa      xmm6, xmm0
    pclmulqdq   xmm6, %1, 0x00
    pxor        xmm3, xmm6
    movdqa      xmm6, xmm0
    pclmulqdq   xmm6, %1, 0x01
    pxor        xmm4, xmm6
    movdqa      xmm7, xmm0
    pclmulqdq   xmm7, %1, 0x10
    pxor        xmm4, xmm7
    pclmulqdq   xmm0, %1, 0x11
    pxor        xmm5, xmm0
%endmacro

; xmm0 = the reduced sum. Two folds of 64 bits; xmm2 is the fold constant.
%macro REDUCE 0
    movdqa      xmm6, xmm4
    pslldq      xmm6, 8
    psrldq      xmm4, 8
    pxor        xmm3, xmm6
    pxor        xmm5, xmm4
    pshufd      xmm6, xmm3, 0x4e
    pclmulqdq   xmm3, xmm2, 0x00
    pxor        xmm3, xmm6
    pshufd      xmm6, xmm3, 0x4e
    pclmulqdq   xmm3, xmm2, 0x00
    pxor        xmm3, xmm6
    movdqa      xmm0, xmm3
    pxor        xmm0, xmm5
%endmacro

%macro CLEAR_SUMS 0
    pxor        xmm3, xmm3
    pxor        xmm4, xmm4
    pxor        xmm5, xmm5
%endmacro

global foreign_init
foreign_init:
    movdqu      xmm0, [rsi]
    pshufb      xmm0, [reverse_bytes]
    ; times x^-1: shift left by one bit, and add the constant if a bit falls out.
    movdqa      xmm1, xmm0
    psrad       xmm1, 31
    pshufd      xmm1, xmm1, 0xff
    pand        xmm1, [top_bits]
    movdqa      xmm3, xmm0
    psrlq       xmm3, 63
    pslldq      xmm3, 8
    psllq       xmm0, 1
    por         xmm0, xmm3
    pxor        xmm0, xmm1
    movdqa      xmm1, xmm0
    movdqa      [rdi], xmm0
    movdqa      xmm2, [fold_constant]
    mov         eax, 16
.power:
    CLEAR_SUMS
    ADD_PRODUCT xmm1
    REDUCE
    movdqa      [rdi + rax], xmm0
    add         rax, 16
    cmp         rax, 64
    jne         .power
    ret

global foreign_gmult
foreign_gmult:
    movdqa      xmm2, [fold_constant]
    movdqa      xmm1, [reverse_bytes]
    movdqu      xmm0, [rdi]
    pshufb      xmm0, xmm1
    CLEAR_SUMS
    ADD_PRODUCT [rsi]
    REDUCE
    pshufb      xmm0, xmm1
    movdqu      [rdi], xmm0
    ret

global foreign_ghash
foreign_ghash:
    movdqa      xmm2, [fold_constant]
    movdqa      xmm1, [reverse_bytes]
    movdqu      xmm8, [rdi]
    pshufb      xmm8, xmm1
    sub         rcx, 64
    jb          .single
.four:
    CLEAR_SUMS
    movdqu      xmm0, [rdx]
    pshufb      xmm0, xmm1
    pxor        xmm0, xmm8
    ADD_PRODUCT [rsi + 48]
    movdqu      xmm0, [rdx + 16]
    pshufb      xmm0, xmm1
    ADD_PRODUCT [rsi + 32]
    movdqu      xmm0, [rdx + 32]
    pshufb      xmm0, xmm1
    ADD_PRODUCT [rsi + 16]
    movdqu      xmm0, [rdx + 48]
    pshufb      xmm0, xmm1
    ADD_PRODUCT [rsi]
    REDUCE
    movdqa      xmm8, xmm0
    add         rdx, 64
    sub         rcx, 64
    jae         .four
.single:
    add         rcx, 64
    jz          .done
.one:
    movdqu      xmm0, [rdx]
    pshufb      xmm0, xmm1
    pxor        xmm0, xmm8
    CLEAR_SUMS
    ADD_PRODUCT [rsi]
    REDUCE
    movdqa      xmm8, xmm0
    add         rdx, 16
    sub         rcx, 16
    jnz         .one
.done:
    pshufb      xmm8, xmm1
    movdqu      [rdi], xmm8
    ret

section .note.GNU-stack noalloc noexec nowrite progbits
