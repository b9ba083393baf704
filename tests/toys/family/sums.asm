; Kernels of a family that no part of the package knows: sums of blocks, with a key of one block.
; System V, or Windows if WIN is defined.

default rel
section .text

%ifdef WIN
%define TABLE rcx
%define STATE rdx
%define AAD r8
%define AAD_LENGTH r9
%define TEXT r10
%define LENGTH r11
%else
%define TABLE rdi
%define STATE rsi
%define AAD rdx
%define AAD_LENGTH rcx
%define TEXT r8
%define LENGTH r9
%endif

; init(table, subkey)
global sums_init
sums_init:
    movdqu      xmm0, [STATE]
    movdqu      [TABLE], xmm0
    ret

; update(table, state, aad, aad_length, text, length): two loops, each with a length of its own
global sums_update
sums_update:
%ifdef WIN
    mov         r10, [rsp + 40]
    mov         r11, [rsp + 48]
%endif
    movdqu      xmm0, [STATE]
    test        AAD_LENGTH, AAD_LENGTH
    jz          .text
.aad:
    movdqu      xmm1, [AAD]
    pxor        xmm0, xmm1
    add         AAD, 16
    sub         AAD_LENGTH, 16
    jnz         .aad
.text:
    test        LENGTH, LENGTH
    jz          .end
.block:
    movdqu      xmm1, [TEXT]
    pxor        xmm0, xmm1
    add         TEXT, 16
    sub         LENGTH, 16
    jnz         .block
.end:
    movdqu      xmm1, [TABLE]
    pxor        xmm0, xmm1
    movdqu      [STATE], xmm0
    ret

; probe(table, state): the first 4 bytes of state and key, as a number
global sums_probe
sums_probe:
    movdqu      xmm0, [STATE]
    movdqu      xmm1, [TABLE]
    pxor        xmm0, xmm1
    movd        eax, xmm0
    ret

; count(text, length): how many blocks there are
global sums_count
sums_count:
%ifdef WIN
    mov         rax, rdx
%else
    mov         rax, rsi
%endif
    shr         rax, 4
    ret

; mask(table, text, out, length): every block with the key added; out may be text
global sums_mask
global sums_replace
sums_mask:
sums_replace:
%ifdef WIN
%define IN rdx
%define OUT r8
%define COUNT r9
%else
%define IN rsi
%define OUT rdx
%define COUNT rcx
%endif
    movdqu      xmm1, [TABLE]
    test        COUNT, COUNT
    jz          .end
.block:
    movdqu      xmm0, [IN]
    pxor        xmm0, xmm1
    movdqu      [OUT], xmm0
    add         IN, 16
    add         OUT, 16
    sub         COUNT, 16
    jnz         .block
.end:
    ret
