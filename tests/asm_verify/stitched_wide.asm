; AES-128-GCM for AVX-512 and VAES: eight blocks a group in two registers of four lanes, the last
; ones under byte masks. System V.
;
; ctx: B8 … B1 of the hash subkey, then the round keys k_0 … k_10, 16 bytes each.
;   encrypt, decrypt(ctx, counter, x, in, out, length)

default rel

section .rodata align=64
swap:   times 4 db 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0
lanes:  dd 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0
four:   times 4 dd 4, 0, 0, 0
fold:   dq 0xc200000000000000, 0

%define CTX rdi
%define COUNTER rsi
%define STATE rdx
%define IN rcx
%define OUT r8
%define LENGTH r9
%define KEY(i) [CTX + 128 + 16 * (i)]
%define POWERS(i) [CTX + 16 * (8 - (i))]

section .text

%macro ENTER 0
    vmovdqu64   zmm31, [swap]
    vmovdqu64   zmm30, [four]
    vmovdqu     xmm8, [STATE]
    vpshufb     xmm8, xmm8, xmm31
    vbroadcasti32x4 zmm11, [COUNTER]
    vpshufb     zmm11, zmm11, zmm31
    vpaddd      zmm11, zmm11, [lanes]
%endmacro

; all rounds but the last of %1 registers, zmm0 …; the last round key in zmm21
%macro KEYSTREAM 1
    vbroadcasti32x4 zmm22, KEY(0)
%assign j 0
%rep %1
    vpshufb     zmm %+ j, zmm11, zmm31
    vpxorq      zmm %+ j, zmm %+ j, zmm22
    vpaddd      zmm11, zmm11, zmm30
%assign j j + 1
%endrep
%assign r 1
%rep 9
    vbroadcasti32x4 zmm22, KEY(r)
%assign j 0
%rep %1
    vaesenc     zmm %+ j, zmm %+ j, zmm22
%assign j j + 1
%endrep
%assign r r + 1
%endrep
    vbroadcasti32x4 zmm21, KEY(10)
%endmacro

; the text of %1 registers added, and written %2 bytes behind OUT
%macro WRITE 2
%assign j 0
%rep %1
    vpxorq      zmm23, zmm21, [IN + 64 * j]
    vaesenclast zmm %+ j, zmm %+ j, zmm23
    vmovdqu64   [OUT + %2 + 64 * j], zmm %+ j
%assign j j + 1
%endrep
%endmacro

; zmm12, zmm13, zmm14: the products of zmm9 by the powers in zmm24, the first if %1
%macro TIMES 1
%if %1
    vpclmulqdq  zmm12, zmm9, zmm24, 0x00
    vpclmulqdq  zmm13, zmm9, zmm24, 0x01
    vpclmulqdq  zmm14, zmm9, zmm24, 0x11
    vpclmulqdq  zmm15, zmm9, zmm24, 0x10
    vpxorq      zmm13, zmm13, zmm15
%else
    vpclmulqdq  zmm15, zmm9, zmm24, 0x00
    vpxorq      zmm12, zmm12, zmm15
    vpclmulqdq  zmm15, zmm9, zmm24, 0x01
    vpclmulqdq  zmm16, zmm9, zmm24, 0x10
    vpternlogq  zmm13, zmm15, zmm16, 0x96
    vpclmulqdq  zmm15, zmm9, zmm24, 0x11
    vpxorq      zmm14, zmm14, zmm15
%endif
%endmacro

; X = the products, folded
%macro REDUCE 0
%assign k 12
%rep 3
    vextracti64x4 ymm15, zmm %+ k, 1
    vpxor       ymm %+ k, ymm %+ k, ymm15
    vextracti128 xmm15, ymm %+ k, 1
    vpxor       xmm %+ k, xmm %+ k, xmm15
%assign k k + 1
%endrep
    vpslldq     xmm9, xmm13, 8
    vpsrldq     xmm13, xmm13, 8
    vpxor       xmm12, xmm12, xmm9
    vpxor       xmm14, xmm14, xmm13
    vmovdqa     xmm10, [fold]
%rep 2
    vpshufd     xmm9, xmm12, 0x4e
    vpclmulqdq  xmm12, xmm12, xmm10, 0x00
    vpxor       xmm12, xmm12, xmm9
%endrep
    vpxor       xmm8, xmm12, xmm14
%endmacro

; X = X·H^(4·%1) + …, the blocks being at %2
%macro HASH 2
%assign j 0
%rep %1
    vmovdqu64   zmm9, [%2 + 64 * j]
    vpshufb     zmm9, zmm9, zmm31
    vmovdqu64   zmm24, POWERS(4 * (%1 - j))
%if j == 0
    vpxorq      zmm9, zmm9, zmm8
%endif
    TIMES       j == 0
%assign j j + 1
%endrep
    REDUCE
%endmacro

; the last 1 to 63 bytes; %1 is the register with the ciphertext
%macro LAST 1
    KEYSTREAM   1
    mov         r10, -1
    bzhi        r10, r10, LENGTH
    kmovq       k1, r10
    vmovdqu8    zmm5 {k1}{z}, [IN]
    vpxorq      zmm23, zmm21, zmm5
    vaesenclast zmm0, zmm0, zmm23
    vmovdqu8    [OUT] {k1}, zmm0
    vmovdqu8    zmm9 {k1}{z}, %1
    vpshufb     zmm9, zmm9, zmm31
    vpxorq      zmm9, zmm9, zmm8
    add         LENGTH, 15
    shr         LENGTH, 4
    lea         r10, [LENGTH + LENGTH]
    mov         r11, -1
    bzhi        r11, r11, r10
    kmovq       k2, r11
    shl         r10, 3
    lea         r11, [CTX + 128]
    sub         r11, r10
    vmovdqu64   zmm24 {k2}{z}, [r11]
    TIMES       1
    REDUCE
    vpsubd      xmm11, xmm11, xmm30
    vmovd       xmm9, r9d
    vpaddd      xmm11, xmm11, xmm9
%endmacro

%macro LEAVE_WITH 0
    vpshufb     xmm8, xmm8, xmm31
    vmovdqu     [STATE], xmm8
    vpshufb     xmm11, xmm11, xmm31
    vmovdqu     [COUNTER], xmm11
%endmacro

%macro NEXT 1
    add         IN, %1
    add         OUT, %1
    sub         LENGTH, %1
%endmacro

global stitched_wide_encrypt
stitched_wide_encrypt:
    test        LENGTH, LENGTH
    jz          .done
    ENTER
    cmp         LENGTH, 128
    jb          .rest
    KEYSTREAM   2
    WRITE       2, 0
    add         IN, 128
    sub         LENGTH, 128
    cmp         LENGTH, 128
    jb          .last
.group:
    KEYSTREAM   2
    HASH        2, OUT
    WRITE       2, 128
    NEXT        128
    cmp         LENGTH, 128
    jae         .group
.last:
    HASH        2, OUT
    add         OUT, 128
.rest:
    cmp         LENGTH, 64
    jb          .few
    KEYSTREAM   1
    WRITE       1, 0
    HASH        1, OUT
    NEXT        64
.few:
    test        LENGTH, LENGTH
    jz          .store
    LAST        zmm0
.store:
    LEAVE_WITH
.done:
    vzeroupper
    ret

global stitched_wide_decrypt
stitched_wide_decrypt:
    test        LENGTH, LENGTH
    jz          .done
    ENTER
    cmp         LENGTH, 128
    jb          .rest
.group:
    KEYSTREAM   2
    HASH        2, IN
    WRITE       2, 0
    NEXT        128
    cmp         LENGTH, 128
    jae         .group
.rest:
    cmp         LENGTH, 64
    jb          .few
    KEYSTREAM   1
    HASH        1, IN
    WRITE       1, 0
    NEXT        64
.few:
    test        LENGTH, LENGTH
    jz          .store
    LAST        zmm5
.store:
    LEAVE_WITH
.done:
    vzeroupper
    ret
