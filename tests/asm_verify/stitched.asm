; AES-128-GCM for AVX: four blocks a group, GHASH of a group beside AES of the next one (encrypt) or
; of the same one (decrypt), schoolbook products, two folds by 64. System V.
;
; ctx: B1 … B4 of the hash subkey, then the round keys k_0 … k_10, 16 bytes each.
;   encrypt, decrypt(ctx, counter, x, in, out, length)
;
; KEEP: encrypt keeps the group to be hashed in registers, and does not read it back.
; AHEAD: decrypt enters its loop with AHEAD rounds of the next group behind it.
; WIN: Microsoft x64.

default rel

section .rodata align=64
swap:   db 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0
one:    dd 1, 0, 0, 0
group:  dd 4, 0, 0, 0
fold:   dq 0xc200000000000000, 0
masks:  times 16 db 255
        times 16 db 0

%define CTX rdi
%define COUNTER rsi
%define STATE rdx
%define IN rcx
%define OUT r8
%define LENGTH r9
%define KEY(i) [CTX + 64 + 16 * (i)]
%define POWER(i) [CTX + 16 * ((i) - 1)]

section .text

; counter blocks of %1 blocks in xmm0 …, k_0 added
%macro COUNTERS 1
%assign j 0
%rep %1
    vpshufb     xmm %+ j, xmm11, [swap]
    vpxor       xmm %+ j, xmm %+ j, KEY(0)
    vpaddd      xmm11, xmm11, [one]
%assign j j + 1
%endrep
%endmacro

; round %2 of %1 blocks
%macro ROUND 2
%assign j 0
%rep %1
    vaesenc     xmm %+ j, xmm %+ j, KEY(%2)
%assign j j + 1
%endrep
%endmacro

%macro ROUNDS 3
%assign r %2
%rep (%3) - (%2)
    ROUND       %1, r
%assign r r + 1
%endrep
%endmacro

; the last round of %1 blocks, the text added and written %2 bytes behind OUT
%macro WRITE 2
%assign j 0
%rep %1
    vmovdqu     xmm9, KEY(10)
    vpxor       xmm9, xmm9, [IN + 16 * j]
    vaesenclast xmm %+ j, xmm %+ j, xmm9
    vmovdqu     [OUT + %2 + 16 * j], xmm %+ j
%assign j j + 1
%endrep
%endmacro

; xmm12, xmm13, xmm14: the products of xmm9 by H^%1, the first if %2
%macro TIMES 2
    vmovdqu     xmm10, POWER(%1)
%if %2
    vpclmulqdq  xmm12, xmm9, xmm10, 0x00
    vpclmulqdq  xmm13, xmm9, xmm10, 0x01
    vpclmulqdq  xmm14, xmm9, xmm10, 0x11
%else
    vpclmulqdq  xmm15, xmm9, xmm10, 0x00
    vpxor       xmm12, xmm12, xmm15
    vpclmulqdq  xmm15, xmm9, xmm10, 0x01
    vpxor       xmm13, xmm13, xmm15
    vpclmulqdq  xmm15, xmm9, xmm10, 0x11
    vpxor       xmm14, xmm14, xmm15
%endif
    vpclmulqdq  xmm15, xmm9, xmm10, 0x10
    vpxor       xmm13, xmm13, xmm15
%endmacro

; X = the products, folded
%macro REDUCE 0
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

; X = X·H^%1 + …, the blocks being at %2
%macro HASH 2
%assign j 0
%rep %1
    vmovdqu     xmm9, [%2 + 16 * j]
    vpshufb     xmm9, xmm9, [swap]
%if j == 0
    vpxor       xmm9, xmm9, xmm8
%endif
    TIMES       %1 - j, j == 0
%assign j j + 1
%endrep
    REDUCE
%endmacro

; the same of blocks in xmm4 …
%macro HASH_KEPT 1
%assign j 0
%assign k 4
%rep %1
    vpshufb     xmm9, xmm %+ k, [swap]
%if j == 0
    vpxor       xmm9, xmm9, xmm8
%endif
    TIMES       %1 - j, j == 0
%assign j j + 1
%assign k k + 1
%endrep
    REDUCE
%endmacro

%macro KEEP_GROUP 0
    vmovdqa     xmm4, xmm0
    vmovdqa     xmm5, xmm1
    vmovdqa     xmm6, xmm2
    vmovdqa     xmm7, xmm3
%endmacro

; X = (X + the block in xmm9)·H
%macro ABSORB 0
    vpshufb     xmm9, xmm9, [swap]
    vpxor       xmm9, xmm9, xmm8
    TIMES       1, 1
    REDUCE
%endmacro

; the LENGTH bytes of a partial block, zero-padded, in xmm1
%macro LOAD_PARTIAL 0
    vpxor       xmm1, xmm1, xmm1
    test        LENGTH, 1
    jz          %%two
    mov         r10, LENGTH
    and         r10, -2
    vpinsrb     xmm1, xmm1, [IN + r10], 0
%%two:
    test        LENGTH, 2
    jz          %%four
    mov         r10, LENGTH
    and         r10, -4
    vpslldq     xmm1, xmm1, 2
    vpinsrw     xmm1, xmm1, [IN + r10], 0
%%four:
    test        LENGTH, 4
    jz          %%eight
    mov         r10, LENGTH
    and         r10, -8
    vpslldq     xmm1, xmm1, 4
    vpinsrd     xmm1, xmm1, [IN + r10], 0
%%eight:
    test        LENGTH, 8
    jz          %%loaded
    vpslldq     xmm1, xmm1, 8
    vpinsrq     xmm1, xmm1, [IN], 0
%%loaded:
%endmacro

; the first LENGTH bytes of xmm0 to OUT
%macro STORE_PARTIAL 0
    test        LENGTH, 8
    jz          %%four
    vmovq       [OUT], xmm0
    vpsrldq     xmm0, xmm0, 8
    add         OUT, 8
%%four:
    test        LENGTH, 4
    jz          %%two
    vmovd       [OUT], xmm0
    vpsrldq     xmm0, xmm0, 4
    add         OUT, 4
%%two:
    test        LENGTH, 2
    jz          %%one
    vpextrw     [OUT], xmm0, 0
    vpsrldq     xmm0, xmm0, 2
    add         OUT, 2
%%one:
    test        LENGTH, 1
    jz          %%stored
    vpextrb     [OUT], xmm0, 0
%%stored:
%endmacro

%macro ENTER 0
    vmovdqu     xmm8, [STATE]
    vpshufb     xmm8, xmm8, [swap]
    vmovdqu     xmm11, [COUNTER]
    vpshufb     xmm11, xmm11, [swap]
%endmacro

%macro LEAVE_WITH 0
    vpshufb     xmm8, xmm8, [swap]
    vmovdqu     [STATE], xmm8
    vpshufb     xmm11, xmm11, [swap]
    vmovdqu     [COUNTER], xmm11
%endmacro

%macro NEXT 1
    add         IN, %1
    add         OUT, %1
    sub         LENGTH, %1
%endmacro

global stitched_encrypt
stitched_encrypt:
    test        LENGTH, LENGTH
    jz          .done
    ENTER
    cmp         LENGTH, 64
    jb          .rest
    COUNTERS    4
    ROUNDS      4, 1, 10
    WRITE       4, 0
%ifdef KEEP
    KEEP_GROUP
    NEXT        64
%else
    add         IN, 64
    sub         LENGTH, 64
%endif
    cmp         LENGTH, 64
    jb          .last
.group:
%ifdef KEEP
    COUNTERS    4
    HASH_KEPT   4
    ROUNDS      4, 1, 10
    WRITE       4, 0
    KEEP_GROUP
%else
    COUNTERS    4
    HASH        4, OUT
    ROUNDS      4, 1, 10
    WRITE       4, 64
%endif
    NEXT        64
    cmp         LENGTH, 64
    jae         .group
.last:
%ifdef KEEP
    HASH_KEPT   4
%else
    HASH        4, OUT
    add         OUT, 64
%endif
.rest:
    cmp         LENGTH, 16
    jb          .partial
.block:
    COUNTERS    1
    ROUNDS      1, 1, 10
    WRITE       1, 0
    vmovdqa     xmm9, xmm0
    ABSORB
    NEXT        16
    cmp         LENGTH, 16
    jae         .block
.partial:
    test        LENGTH, LENGTH
    jz          .store
    COUNTERS    1
    ROUNDS      1, 1, 10
    vaesenclast xmm0, xmm0, KEY(10)
    LOAD_PARTIAL
    vpxor       xmm0, xmm0, xmm1
    lea         r10, [masks + 16]
    sub         r10, LENGTH
    vpand       xmm9, xmm0, [r10]
    ABSORB
    STORE_PARTIAL
.store:
    LEAVE_WITH
.done:
    ret

global stitched_decrypt
stitched_decrypt:
    test        LENGTH, LENGTH
    jz          .done
    ENTER
    cmp         LENGTH, 64
    jb          .rest
%ifdef AHEAD
    COUNTERS    4
    ROUNDS      4, 1, AHEAD + 1
%endif
.group:
%ifndef AHEAD
    COUNTERS    4
    ROUNDS      4, 1, 10
%else
    ROUNDS      4, AHEAD + 1, 10
%endif
    HASH        4, IN
    WRITE       4, 0
%ifdef AHEAD
    COUNTERS    4
    ROUNDS      4, 1, AHEAD + 1
%endif
    NEXT        64
    cmp         LENGTH, 64
    jae         .group
%ifdef AHEAD
    vpsubd      xmm11, xmm11, [group]
%endif
.rest:
    cmp         LENGTH, 16
    jb          .partial
.block:
    COUNTERS    1
    ROUNDS      1, 1, 10
    vmovdqu     xmm9, [IN]
    ABSORB
    WRITE       1, 0
    NEXT        16
    cmp         LENGTH, 16
    jae         .block
.partial:
    test        LENGTH, LENGTH
    jz          .store
    COUNTERS    1
    ROUNDS      1, 1, 10
    vaesenclast xmm0, xmm0, KEY(10)
    LOAD_PARTIAL
    vpxor       xmm0, xmm0, xmm1
    vmovdqa     xmm9, xmm1
    ABSORB
    STORE_PARTIAL
.store:
    LEAVE_WITH
.done:
    ret
