; One GHASH multiplication in natural bit order: GFNI reverses the bits inside each byte.
;
;   void natural_mul(const uint8_t table[32], uint8_t x[16]);
;
; The table holds the natural register B of H, then K = B1*Q + B0*x^64.

default rel
bits 64

section .rodata align=16
reverse_bits: times 2 dq 0x8040201008040201
q:            dq 0x87, 0

section .text
global natural_mul
natural_mul:
    vmovdqu     xmm0, [rsi]
    vgf2p8affineqb xmm0, xmm0, [reverse_bits], 0
    vpclmulqdq  xmm1, xmm0, [rdi], 0x00         ; A0*B0
    vpclmulqdq  xmm2, xmm0, [rdi + 16], 0x01    ; A1*K0
    vpclmulqdq  xmm3, xmm0, [rdi], 0x10         ; A0*B1
    vpclmulqdq  xmm4, xmm0, [rdi + 16], 0x11    ; A1*K1
    vpxor       xmm1, xmm1, xmm2                ; Ylo
    vpxor       xmm3, xmm3, xmm4                ; Yhi
    vpclmulqdq  xmm2, xmm3, [q], 0x01           ; Yhi1*Q
    vpslldq     xmm3, xmm3, 8                   ; Yhi0*x^64
    vpxor       xmm1, xmm1, xmm2
    vpxor       xmm0, xmm1, xmm3
    vgf2p8affineqb xmm0, xmm0, [reverse_bits], 0
    vmovdqu     [rsi], xmm0
    ret

section .note.GNU-stack noalloc noexec nowrite progbits
