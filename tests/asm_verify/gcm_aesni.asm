; Key set-up of AES-GCM written by hand, with AES-NI; it follows foreign.asm, whose constants and
; macros it takes. KEY is 128, 192 or 256.
;
;   void gcm_init(uint8_t table[], const uint8_t key[KEY / 8]);
;
; The table holds, 16-byte aligned: at byte 16*(i-1) H^i times x^-1 as a reflected register
; (i = 1..4), then from byte 64 on the round keys.

section .text

%define KEYS    rdi + 64
%define ROUNDS  (KEY / 32 + 6)

; %1 becomes the prefix sums of its four words; uses xmm4.
%macro PREFIX_SUMS 1
    movdqa      xmm4, %1
    pslldq      xmm4, 4
    pxor        %1, xmm4
    movdqa      xmm4, %1
    pslldq      xmm4, 8
    pxor        %1, xmm4
%endmacro

%macro EXPAND_128 0
    movdqu      xmm0, [rsi]
    movdqu      [KEYS], xmm0
%assign round 1
%assign rcon 1
%rep 10
    aeskeygenassist xmm1, xmm0, rcon
    pshufd      xmm1, xmm1, 0xff
    PREFIX_SUMS xmm0
    pxor        xmm0, xmm1
    movdqu      [KEYS + 16 * round], xmm0
%assign round round + 1
%assign rcon ((rcon << 1) ^ (0x11b * (rcon >> 7)))
%endrep
%endmacro

; Six words at a time: four in xmm0, two in the low half of xmm1.
%macro EXPAND_192 0
    movdqu      xmm0, [rsi]
    movq        xmm1, [rsi + 16]
%assign step 0
%assign rcon 1
%rep 9
    movdqu      [KEYS + 24 * step], xmm0
%if step < 8
    movq        [KEYS + 24 * step + 16], xmm1
    aeskeygenassist xmm2, xmm1, rcon
    pshufd      xmm2, xmm2, 0x55
    PREFIX_SUMS xmm0
    pxor        xmm0, xmm2
    movdqa      xmm3, xmm1
    pslldq      xmm3, 4
    pxor        xmm1, xmm3
    pshufd      xmm3, xmm0, 0xff
    pxor        xmm1, xmm3
%endif
%assign step step + 1
%assign rcon ((rcon << 1) ^ (0x11b * (rcon >> 7)))
%endrep
%endmacro

%macro EXPAND_256 0
    movdqu      xmm0, [rsi]
    movdqu      xmm1, [rsi + 16]
    movdqu      [KEYS], xmm0
    movdqu      [KEYS + 16], xmm1
%assign step 1
%assign rcon 1
%rep 7
    aeskeygenassist xmm2, xmm1, rcon
    pshufd      xmm2, xmm2, 0xff
    PREFIX_SUMS xmm0
    pxor        xmm0, xmm2
    movdqu      [KEYS + 32 * step], xmm0
%if step < 7
    aeskeygenassist xmm2, xmm0, 0
    pshufd      xmm2, xmm2, 0xaa
    PREFIX_SUMS xmm1
    pxor        xmm1, xmm2
    movdqu      [KEYS + 32 * step + 16], xmm1
%endif
%assign step step + 1
%assign rcon rcon << 1
%endrep
%endmacro

; The powers of H, which is in xmm0 as it is in memory, as foreign_init makes them.
%macro POWERS 0
    pshufb      xmm0, [reverse_bytes]
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
%%power:
    CLEAR_SUMS
    ADD_PRODUCT xmm1
    REDUCE
    movdqa      [rdi + rax], xmm0
    add         rax, 16
    cmp         rax, 64
    jne         %%power
%endmacro

%ifndef VAES
global gcm_init
gcm_init:
%if KEY == 128
    EXPAND_128
%elif KEY == 192
    EXPAND_192
%else
    EXPAND_256
%endif
    ; H = E(0): the first addition leaves the first round key.
    movdqa      xmm0, [KEYS]
%assign round 1
%rep ROUNDS - 1
    aesenc      xmm0, [KEYS + 16 * round]
%assign round round + 1
%endrep
    aesenclast  xmm0, [KEYS + 16 * ROUNDS]
    POWERS
    ret
%endif
