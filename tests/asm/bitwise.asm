; A GHASH kernel by algorithm 1 of SP 800-38D, one bit of X a step: slow, and correct unless a
; define plants a fault.
;   -DNAME=symbol   prefix of the three functions
;   -DWIN64         Microsoft x64 convention instead of System V
;   -DFAULT_...     one planted fault (see below)
; Table: H as two quadwords, high half first (16 bytes, aligned to 16). Needs sse2.

%ifndef NAME
%define NAME bitwise
%endif
%xdefine INIT NAME %+ _init
%xdefine MUL NAME %+ _mul
%xdefine UPDATE NAME %+ _update

default rel
global INIT, MUL, UPDATE
section .text

; From here on rdi = table, rsi = h or x, rdx = in, rcx = len in both conventions.
%macro ENTER 0
%ifdef WIN64
    mov [rsp + 8], rcx          ; the shadow space belongs to the callee
    mov [rsp + 32], r9
    push rdi
    push rsi
    mov rdi, rcx
    mov rsi, rdx
    mov rdx, r8
    mov rcx, r9
%endif
    push rbx
    push r12
    push r13
    push r14
    push r15
%endmacro

%macro LEAVE_TO_CALLER 0
    pop r15
    pop r14
    pop r13
    pop r12
    pop rbx
%ifdef WIN64
    pop rsi
    pop rdi
%endif
%endmacro

; r8:r9 = (r8:r9) * H. Keeps rdi, rsi, rdx, rcx.
multiply:
    mov r10, [rdi]              ; V = H
    mov r11, [rdi + 8]
    xor r12d, r12d              ; Z = 0
    xor r13d, r13d
    mov r14d, 128
    mov rbx, 0xE100000000000000
.bit:
    add r9, r9                  ; x_i
    adc r8, r8
    sbb rax, rax
    mov r15, rax
    and rax, r10
    and r15, r11
    xor r12, rax                ; Z += x_i V
    xor r13, r15
    shr r10, 1                  ; V = V x
    rcr r11, 1
    sbb rax, rax
    and rax, rbx
    xor r10, rax
    dec r14d
    jnz .bit
    mov r8, r12
    mov r9, r13
    ret

INIT:
    ENTER
    mov rax, [rsi]
    bswap rax
    mov [rdi], rax
    mov rax, [rsi + 8]
    bswap rax
    mov [rdi + 8], rax
%ifdef FAULT_KEY_PAST
    mov al, [rsi + 16]
%endif
%ifdef FAULT_TABLE_PAST
    mov byte [rdi + 16], 0
%endif
%ifdef FAULT_TABLE_PAST_IN_PAGE
    lea rax, [rdi + 16]         ; where no guard page can catch it
    test eax, 4095
    jz .in_page
    mov byte [rdi + 16], 0
.in_page:
%endif
%ifdef FAULT_TABLE_BEFORE
    mov byte [rdi - 1], 0
%endif
%ifdef FAULT_TABLE_ALIGNED_16
    movaps xmm0, [rdi]
%endif
%ifdef FAULT_INIT_AT_32
    mov eax, edi
    and eax, 63
    cmp eax, 32
    jne .elsewhere
    xor byte [rdi + 15], 1
.elsewhere:
%endif
%ifdef FAULT_TABLE_ALIGNED_32
    test dil, 16
    jz .aligned
    movaps xmm0, [rdi + 8]
.aligned:
%endif
    LEAVE_TO_CALLER
%ifdef FAULT_INIT_R13
    xor r13d, r13d
%endif
    ret

MUL:
    ENTER
    mov r8, [rsi]
    bswap r8
    mov r9, [rsi + 8]
    bswap r9
    call multiply
    bswap r8
    mov [rsi], r8
    bswap r9
    mov [rsi + 8], r9
%ifdef FAULT_MUL_WRONG
    xor byte [rsi + 15], 1
%endif
    LEAVE_TO_CALLER
    ret

UPDATE:
%ifdef FAULT_RELIES_ON_RAX
    mov r11, rax                ; "always zero here"
%elifdef FAULT_RELIES_ON_XMM5
    movq r11, xmm5
%elifdef FAULT_RELIES_ON_YMM_UPPER
    vextractf128 xmm5, ymm5, 1
    vmovq r11, xmm5
    vzeroupper
%else
    xor r11d, r11d
%endif
    ENTER
    mov r8, r11
    push rcx                    ; len, for the faults at the end
    mov rax, [rsi]
    bswap rax
    xor r8, rax
    mov r9, [rsi + 8]
    bswap r9

%ifdef FAULT_READ_PAST
    mov al, [rdx + rcx]
%endif
%ifdef FAULT_READ_BEFORE
    mov al, [rdx - 1]
%endif
%ifdef FAULT_STATE_READ_PAST
    mov al, [rsi + 16]
%endif
%ifdef FAULT_WRITE_INPUT
    test rcx, rcx
    jz .written
    mov al, [rdx]
    mov [rdx], al
.written:
%endif
%ifdef FAULT_UPDATE_AT_32
    mov eax, edi
    and eax, 63
    cmp eax, 32
    jne .elsewhere
    xor r9, 1
.elsewhere:
%endif
%ifdef FAULT_WRITE_TABLE
    mov rax, [rdi]
    mov [rdi], rax
%endif
%ifdef FAULT_ALIGNED_LOAD
    cmp rcx, 16
    jb .loaded
    movdqa xmm0, [rdx]
.loaded:
%endif
%ifdef FAULT_WRONG_WHEN_ODD
    cmp rcx, 17                 ; right at every length, wrong at one address modulo 64
    jne .even
    mov eax, edx
    and eax, 63
    cmp eax, 37
    jne .even
    xor r9, 1
.even:
%endif
%ifdef FAULT_ILLEGAL
    ud2
%endif
%ifdef FAULT_ENDLESS
    cmp rcx, 40
.forever:
    je .forever
%endif
%ifdef FAULT_WILD
    mov eax, 0x1000
    mov rax, [rax]
%endif

.block:
    sub rcx, 16
    jb .tail
    mov rax, [rdx]
    bswap rax
    xor r8, rax
    mov rax, [rdx + 8]
    bswap rax
    xor r9, rax
    call multiply
    add rdx, 16
    jmp .block

.tail:
    add rcx, 16
    jz .done
    xor r10d, r10d              ; the tail, zero-padded, from its last byte on
    xor r11d, r11d
.byte:
    shrd r11, r10, 8
    shr r10, 8
    movzx eax, byte [rdx + rcx - 1]
    shl rax, 56
    or r10, rax
    dec rcx
    jnz .byte
    xor r8, r10
    xor r9, r11
    call multiply

.done:
    bswap r8
    mov [rsi], r8
    bswap r9
    mov [rsi + 8], r9
    pop rcx
%ifdef FAULT_WRONG_LENGTH
    cmp rcx, FAULT_WRONG_LENGTH
    jne .right
    xor byte [rsi], 0x80
.right:
%endif
%ifdef FAULT_STATE_PAST
    mov byte [rsi + 16], 0
%endif
%ifdef FAULT_STATE_PAST_IN_PAGE
    lea rax, [rsi + 16]
    test eax, 4095
    jz .in_page
    mov byte [rsi + 16], 0
.in_page:
%endif
%ifdef FAULT_STATE_BEFORE
    mov byte [rsi - 1], 0
%endif
    LEAVE_TO_CALLER

%ifdef FAULT_RBX
    xor ebx, ebx
%endif
%ifdef FAULT_RBP
    inc rbp
%endif
%ifdef FAULT_R12
    xor r12d, r12d
%endif
%ifdef FAULT_RSI
    xor esi, esi                ; free in System V, not in Win64
%endif
%ifdef FAULT_XMM6
    pxor xmm6, xmm6             ; likewise
%endif
%ifdef FAULT_DIRECTION
    std
%endif
%ifdef FAULT_MXCSR
    push 0x3F80                 ; round down
    ldmxcsr [rsp]
    pop rax
%endif
%ifdef FAULT_MXCSR_STATUS
    push 0x1FA1                 ; sticky flags only, which is allowed
    ldmxcsr [rsp]
    pop rax
%endif
%ifdef FAULT_X87
    push 0x027F
    fldcw [rsp]
    pop rax
%endif
%ifdef FAULT_RSP
    pop rax
    sub rsp, 8
    jmp rax
%endif
%ifdef FAULT_RETURN
    sub rsp, 8                  ; returns to whatever lies below
%endif
%ifdef FAULT_CALLER_STACK
    mov qword [rsp + 8 + 32], 0 ; past the return address and the shadow space
%endif
%ifdef FAULT_SHADOW
    mov qword [rsp + 8], 0      ; the caller's in System V, the callee's in Win64
%endif
%ifdef FAULT_STACK_OVERFLOW
    mov byte [rsp - 66000], 0
%endif
%ifdef FAULT_DIRTY_YMM
    vcmpps ymm3, ymm0, ymm0, 15 ; all ones
%endif
%ifdef FAULT_DIRTY_ZERO
    vcmpps ymm3, ymm0, ymm0, 15
    vxorps ymm3, ymm3, ymm3     ; zero again, but in use
%endif
%ifdef FAULT_CLEAN_YMM
    vcmpps ymm3, ymm0, ymm0, 15
    vzeroupper
%endif
%ifdef FAULT_VEX128
    vcmpps xmm3, xmm0, xmm0, 15 ; zeroes the rest of ymm3 by itself
%endif
%ifdef FAULT_CLEAN_ZMM
    vpternlogd zmm3, zmm3, zmm3, 0xFF
    vpternlogd zmm17, zmm17, zmm17, 0xFF    ; zmm16-31 do not slow legacy code down
    vzeroupper
%endif
%ifdef FAULT_DIRTY_ZMM
    vpternlogd zmm3, zmm3, zmm3, 0xFF
%endif
    ret

section .note.GNU-stack noalloc noexec nowrite progbits
