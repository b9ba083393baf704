/*
 * void abi_call_trampoline(void): calls abi_frame.target by SysV or Win64 convention on a stack of
 * its own, with sentinels in the callee-saved and garbage in the volatile registers, and stores the
 * registers found on return into abi_frame. Nothing is kept in a register or on the callee's stack
 * across the call, so that the harness survives a callee that breaks every rule but `ret`.
 */
#include "abi_layout.h"

    .intel_syntax noprefix
#define AT(offset) [rip + abi_frame + (offset)]

    .text
    .globl abi_call_trampoline
    .hidden abi_call_trampoline
    .type abi_call_trampoline, @function
    .p2align 4
abi_call_trampoline:
    .cfi_startproc
    push rbx
    push rbp
    push r12
    push r13
    push r14
    push r15
    mov AT(FRAME_OWN_RSP), rsp
    stmxcsr AT(FRAME_OWN_MXCSR)
    fnstcw AT(FRAME_OWN_FPCW)
    cld

    /* Vector registers: low halves by legacy moves into clean registers, or dirty as a whole. */
    cmp qword ptr AT(FRAME_VECTORS), 1
    jb .Lfill_legacy
    vzeroupper
    cmp qword ptr AT(FRAME_DIRTY), 0
    je .Lfill_legacy
    .irp i, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
    vmovdqu ymm\i, AT(FRAME_FILL + 64*\i)
    .endr
    cmp qword ptr AT(FRAME_VECTORS), 2
    jb .Lfilled
    .irp i, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
    vmovdqu64 zmm\i, AT(FRAME_FILL + 64*\i)
    .endr
    jmp .Lfill_high
.Lfill_legacy:
    .irp i, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
    movdqu xmm\i, AT(FRAME_FILL + 64*\i)
    .endr
    cmp qword ptr AT(FRAME_VECTORS), 2
    jb .Lfilled
.Lfill_high:
    .irp i, 16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    vmovdqu64 zmm\i, AT(FRAME_FILL + 64*\i)
    .endr
    mov eax, 0x5A69
    .irp i, 0,1,2,3,4,5,6,7
    kmovw k\i, eax
    .endr
.Lfilled:

    mov rbx, AT(FRAME_SENTINELS)
    mov rbp, AT(FRAME_SENTINELS + 8)
    mov rdi, AT(FRAME_SENTINELS + 16)
    mov rsi, AT(FRAME_SENTINELS + 24)
    mov r12, AT(FRAME_SENTINELS + 32)
    mov r13, AT(FRAME_SENTINELS + 40)
    mov r14, AT(FRAME_SENTINELS + 48)
    mov r15, AT(FRAME_SENTINELS + 56)
    mov rax, AT(FRAME_GARBAGE)
    mov r10, rax
    mov r11, rax
    mov rsp, AT(FRAME_STACK)
    cmp qword ptr AT(FRAME_WIN64), 0
    jne .Lwin64
    mov rdi, AT(FRAME_ARGS)
    mov rsi, AT(FRAME_ARGS + 8)
    mov rdx, AT(FRAME_ARGS + 16)
    mov rcx, AT(FRAME_ARGS + 24)
    mov r8, AT(FRAME_ARGS + 32)
    mov r9, AT(FRAME_ARGS + 40)
    jmp .Lcall
.Lwin64:
    mov rcx, AT(FRAME_ARGS)
    mov rdx, AT(FRAME_ARGS + 8)
    mov r8, AT(FRAME_ARGS + 16)
    mov r9, AT(FRAME_ARGS + 24)
.Lcall:
    stc
    call qword ptr AT(FRAME_TARGET)

    /* rsp first, and a sound stack before the flags are pushed; mov leaves the flags alone. */
    mov AT(FRAME_OUT_RSP), rsp
    mov rsp, AT(FRAME_OWN_RSP)
    pushfq
    pop qword ptr AT(FRAME_OUT_FLAGS)
    cld
    mov AT(FRAME_OUT_RESULT), rax
    mov AT(FRAME_OUT_REGISTERS), rbx
    mov AT(FRAME_OUT_REGISTERS + 8), rbp
    mov AT(FRAME_OUT_REGISTERS + 16), rdi
    mov AT(FRAME_OUT_REGISTERS + 24), rsi
    mov AT(FRAME_OUT_REGISTERS + 32), r12
    mov AT(FRAME_OUT_REGISTERS + 40), r13
    mov AT(FRAME_OUT_REGISTERS + 48), r14
    mov AT(FRAME_OUT_REGISTERS + 56), r15
    stmxcsr AT(FRAME_OUT_MXCSR)
    fnstcw AT(FRAME_OUT_FPCW)
    ldmxcsr AT(FRAME_OWN_MXCSR)
    fldcw AT(FRAME_OWN_FPCW)

    cmp qword ptr AT(FRAME_XINUSE_OK), 0
    je .Lno_xinuse
    mov ecx, 1
    xgetbv
    shl rdx, 32
    or rax, rdx
    mov AT(FRAME_OUT_XINUSE), rax
.Lno_xinuse:
    cmp qword ptr AT(FRAME_VECTORS), 1
    jb .Lstore_legacy
    je .Lstore_avx
    .irp i, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
    vmovdqu64 AT(FRAME_OUT_VECTORS + 64*\i), zmm\i
    .endr
    jmp .Lstored
.Lstore_avx:
    .irp i, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
    vmovdqu AT(FRAME_OUT_VECTORS + 64*\i), ymm\i
    .endr
.Lstored:
    vzeroupper
    jmp .Lreturn
.Lstore_legacy:
    .irp i, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
    movdqu AT(FRAME_OUT_VECTORS + 64*\i), xmm\i
    .endr
.Lreturn:
    pop r15
    pop r14
    pop r13
    pop r12
    pop rbp
    pop rbx
    ret
    .cfi_endproc
    .size abi_call_trampoline, . - abi_call_trampoline

    /* A callee that keeps every rule. XINUSE after it calibrates the check. */
    .globl abi_call_nothing
    .hidden abi_call_nothing
    .type abi_call_nothing, @function
    .p2align 4
abi_call_nothing:
    ret
    .size abi_call_nothing, . - abi_call_nothing

    .section .note.GNU-stack, "", @progbits
