; The same key set-up in other ways, behind foreign.asm and gcm_aesni.asm: SubWord by the last round
; of AES on a word in all four places, whose columns are then alike; E(0) in all lanes of registers
; of 256 and 512 bits, half of the rounds in each. KEY is 128 or 256.

section .rodata
align 16
last_rotated: times 4 db 13, 14, 15, 12
last_word:    times 4 db 12, 13, 14, 15
section .text

%macro V_PREFIX_SUMS 1
    vpslldq     xmm4, %1, 4
    vpxor       %1, %1, xmm4
    vpslldq     xmm4, %1, 8
    vpxor       %1, %1, xmm4
%endmacro

; %1, %2: the four words before, and the register with the last word; %3 rcon, 0 for none.
%macro V_STEP 3
%if %3
    mov         eax, %3
    vmovd       xmm5, eax
    vpshufd     xmm5, xmm5, 0
    vpshufb     xmm6, %2, [last_rotated]
%else
    vpxor       xmm5, xmm5, xmm5
    vpshufb     xmm6, %2, [last_word]
%endif
    vaesenclast xmm6, xmm6, xmm5
    V_PREFIX_SUMS %1
    vpxor       %1, %1, xmm6
%endmacro

global gcm_init
gcm_init:
    vmovdqu     xmm0, [rsi]
    vmovdqu     [KEYS], xmm0
%assign rcon 1
%if KEY == 128
%assign round 1
%rep 10
    V_STEP      xmm0, xmm0, rcon
    vmovdqu     [KEYS + 16 * round], xmm0
%assign round round + 1
%assign rcon ((rcon << 1) ^ (0x11b * (rcon >> 7)))
%endrep
%else
    vmovdqu     xmm1, [rsi + 16]
    vmovdqu     [KEYS + 16], xmm1
%assign round 2
%rep 7
    V_STEP      xmm0, xmm1, rcon
    vmovdqu     [KEYS + 16 * round], xmm0
%if round < 14
    V_STEP      xmm1, xmm0, 0
    vmovdqu     [KEYS + 16 * round + 16], xmm1
%endif
%assign round round + 2
%assign rcon rcon << 1
%endrep
%endif
    vbroadcasti128 ymm0, [KEYS]
%assign round 1
%rep 5
    vbroadcasti128 ymm1, [KEYS + 16 * round]
    vaesenc     ymm0, ymm0, ymm1
%assign round round + 1
%endrep
    vinserti64x4 zmm0, zmm0, ymm0, 1
%rep ROUNDS - 6
    vbroadcasti64x2 zmm1, [KEYS + 16 * round]
    vaesenc     zmm0, zmm0, zmm1
%assign round round + 1
%endrep
    vbroadcasti32x4 zmm1, [KEYS + 16 * ROUNDS]
    vaesenclast zmm0, zmm0, zmm1
    vextracti32x4 xmm0, zmm0, 3
    vzeroupper
    POWERS
    ret
