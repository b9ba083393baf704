; `open` written by hand: it checks the tag before it decrypts, and so reads the text twice. It follows
; foreign.asm, whose constants and macros it takes; with SSE4.1, one block at a time.
;
;   int gcm_open(const uint8_t table[], const uint8_t *iv, size_t iv_len, const uint8_t *aad,
;                size_t aad_len, const uint8_t *in, size_t len, uint8_t *out, const uint8_t *tag,
;                size_t tag_len);
;
; The table holds, 16-byte aligned, H times x^-1 as a reflected register, then at byte 16 the eleven
; round keys of a key of 128 bits. It returns 0, or 1 and zeros for a wrong tag, or 2 for a length
; that there is not.
;
; Defined by whoever takes it: HASHED, where the text is that is hashed; COMPARED, the most bytes of a
; tag; WRONG, what is done where the tag is wrong.

section .rodata align=16
one: dd 1, 0, 0, 0

section .text

%define LENGTH      [rsp + 8]
%define OUT         [rsp + 16]
%define TAG         [rsp + 24]
%define TAG_LENGTH  [rsp + 32]

; xmm8 = (xmm8 + xmm0)·H, all in registers.
%macro TIMES_H 0
    pxor        xmm0, xmm8
    CLEAR_SUMS
    ADD_PRODUCT [rdi]
    REDUCE
    movdqa      xmm8, xmm0
%endmacro

; %1 = the first %3 bytes at %2, from 1 to 16, with zeros behind them. Uses rax and xmm7.
%macro LOAD_BYTES 3
    pxor        %1, %1
%%byte:
    pslldq      %1, 1
    movzx       eax, byte [%2 + %3 - 1]
    movd        xmm7, eax
    pxor        %1, xmm7
    sub         %3, 1
    jnz         %%byte
%endmacro

; Take %2 bytes at %1 into the state xmm8; both change.
%macro ABSORB 2
    cmp         %2, 16
    jb          %%last
%%block:
    movdqu      xmm0, [%1]
    pshufb      xmm0, xmm1
    TIMES_H
    add         %1, 16
    sub         %2, 16
    cmp         %2, 16
    jae         %%block
%%last:
    test        %2, %2
    jz          %%done
    LOAD_BYTES  xmm0, %1, %2
    pshufb      xmm0, xmm1
    TIMES_H
%%done:
%endmacro

; xmm0 under the round keys.
%macro ENCRYPT 0
    pxor        xmm0, [rdi + 16]
%assign round 1
%rep 9
    aesenc      xmm0, [rdi + 16 + 16 * round]
%assign round round + 1
%endrep
    aesenclast  xmm0, [rdi + 16 + 160]
%endmacro

; xmm0 = the next block of the keystream; the counter is xmm13, its bytes reversed.
%macro NEXT 0
    paddd       xmm13, [one]
    movdqa      xmm0, xmm13
    pshufb      xmm0, xmm1
    ENCRYPT
%endmacro

; Decrypt rdx bytes from r9 to rcx.
%macro DECRYPT 0
    mov         rcx, OUT
    mov         rdx, LENGTH
    cmp         rdx, 16
    jb          %%last
%%block:
    NEXT
    movdqu      xmm7, [r9]
    pxor        xmm0, xmm7
    movdqu      [rcx], xmm0
    add         r9, 16
    add         rcx, 16
    sub         rdx, 16
    cmp         rdx, 16
    jae         %%block
%%last:
    test        rdx, rdx
    jz          %%done
    NEXT
%%byte:
    movzx       eax, byte [r9]
    movd        xmm7, eax
    pxor        xmm7, xmm0
    pextrb      [rcx], xmm7, 0
    psrldq      xmm0, 1
    add         r9, 1
    add         rcx, 1
    sub         rdx, 1
    jnz         %%byte
%%done:
%endmacro

%macro CLEAR 0
    mov         rcx, OUT
    mov         rdx, LENGTH
    pxor        xmm0, xmm0
    cmp         rdx, 16
    jb          %%last
%%block:
    movdqu      [rcx], xmm0
    add         rcx, 16
    sub         rdx, 16
    cmp         rdx, 16
    jae         %%block
%%last:
    test        rdx, rdx
    jz          %%done
%%byte:
    mov         byte [rcx], 0
    add         rcx, 1
    sub         rdx, 1
    jnz         %%byte
%%done:
%endmacro

global gcm_open
gcm_open:
    mov         r10, (1 << 61) - 1
    test        rdx, rdx
    jz          .refused
    cmp         rdx, r10
    ja          .refused
    cmp         r8, r10
    ja          .refused
    mov         r10, (1 << 36) - 32
    mov         rax, LENGTH
    cmp         rax, r10
    ja          .refused
    mov         rax, TAG_LENGTH
    cmp         rax, 4
    je          .allowed
    cmp         rax, 8
    je          .allowed
    cmp         rax, 12
    jb          .refused
    cmp         rax, 16
    ja          .refused
.allowed:
    movdqa      xmm2, [fold_constant]
    movdqa      xmm1, [reverse_bytes]
    cmp         rdx, 12
    jne         .other
    movq        xmm14, [rsi]
    pinsrd      xmm14, [rsi + 8], 2
    mov         eax, 0x01000000
    pinsrd      xmm14, eax, 3
    jmp         .counter
.other:
    mov         r10, rdx
    pxor        xmm8, xmm8
    ABSORB      rsi, rdx
    shl         r10, 3
    movq        xmm0, r10
    TIMES_H
    movdqa      xmm14, xmm8
    pshufb      xmm14, xmm1
.counter:
    movdqa      xmm0, xmm14
    ENCRYPT
    movdqa      xmm15, xmm0
    movdqa      xmm13, xmm14
    pshufb      xmm13, xmm1
    pxor        xmm8, xmm8
    mov         rdx, r8
    ABSORB      rcx, rdx
.text:
    mov         rcx, HASHED
    mov         rdx, LENGTH
    ABSORB      rcx, rdx
.tag:
    mov         rax, LENGTH
    shl         rax, 3
    shl         r8, 3
    movq        xmm0, rax
    movq        xmm7, r8
    punpcklqdq  xmm0, xmm7
    TIMES_H
    pshufb      xmm8, xmm1
    pxor        xmm8, xmm15
    mov         rsi, TAG
    mov         rdx, TAG_LENGTH
    mov         ecx, COMPARED
    sub         rcx, rdx
    LOAD_BYTES  xmm9, rsi, rdx
    pxor        xmm9, xmm8
    test        rcx, rcx
    jz          .compare
.behind:
    ; What is behind the bytes that are compared falls out at the top.
    pslldq      xmm9, 1
    sub         rcx, 1
    jnz         .behind
.compare:
    pshufd      xmm7, xmm9, 0x4e
    por         xmm9, xmm7
    movq        rax, xmm9
    test        rax, rax
    jz          .right
    WRONG
    mov         eax, 1
    ret
.right:
    DECRYPT
    xor         eax, eax
    ret
.refused:
    mov         eax, 2
    ret
