/*
 * void abi_call_trampoline(void): calls abi_frame.target on a stack of its own, with sentinels in the
 * callee-saved and garbage in the other registers, and stores the registers found on return into
 * abi_frame. Nothing is kept in a register or on the callee's stack across the call, so that
 * the harness survives a callee that breaks every rule but `ret`.
 */
#include "abi_layout.h"

    .macro frame register
    adrp \register, abi_frame
    add \register, \register, :lo12:abi_frame
    .endm

    .text
    .globl abi_call_trampoline
    .hidden abi_call_trampoline
    .type abi_call_trampoline, %function
    .p2align 4
abi_call_trampoline:
    .cfi_startproc
    hint #34
    stp x29, x30, [sp, #-176]!
    .cfi_def_cfa_offset 176
    .cfi_offset 29, -176
    .cfi_offset 30, -168
    stp x19, x20, [sp, #16]
    stp x21, x22, [sp, #32]
    stp x23, x24, [sp, #48]
    stp x25, x26, [sp, #64]
    stp x27, x28, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    str x18, [sp, #160]
    frame x16
    mov x17, sp
    str x17, [x16, #FRAME_OWN_SP]
    mrs x17, fpcr
    str x17, [x16, #FRAME_OWN_FPCR]

    .irp i, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    ldr q\i, [x16, #(FRAME_FILL + 16*\i)]
    .endr
    .irp i, 18,19,20,21,22,23,24,25,26,27,28,29
    ldr x\i, [x16, #(FRAME_SENTINELS + 8*(\i - 18))]
    .endr
    ldr x17, [x16, #FRAME_STACK]
    mov sp, x17
    .irp i, 0,1,2,3,4,5,6,7
    ldr x\i, [x16, #(FRAME_ARGS + 8*\i)]
    .endr
    ldr x17, [x16, #FRAME_GARBAGE]
    .irp i, 8,9,10,11,12,13,14,15
    mov x\i, x17
    .endr
    ldr x16, [x16, #FRAME_TARGET]
    cmp xzr, xzr
    blr x16

    frame x16
    str x0, [x16, #FRAME_OUT_RESULT]
    mov x17, sp
    str x17, [x16, #FRAME_OUT_SP]
    ldr x17, [x16, #FRAME_OWN_SP]
    mov sp, x17
    .irp i, 18,19,20,21,22,23,24,25,26,27,28,29
    str x\i, [x16, #(FRAME_OUT_REGISTERS + 8*(\i - 18))]
    .endr
    .irp i, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    str q\i, [x16, #(FRAME_OUT_VECTORS + 16*\i)]
    .endr
    mrs x17, fpcr
    str x17, [x16, #FRAME_OUT_FPCR]
    ldr x17, [x16, #FRAME_OWN_FPCR]
    msr fpcr, x17

    ldr x18, [sp, #160]
    ldp d14, d15, [sp, #144]
    ldp d12, d13, [sp, #128]
    ldp d10, d11, [sp, #112]
    ldp d8, d9, [sp, #96]
    ldp x27, x28, [sp, #80]
    ldp x25, x26, [sp, #64]
    ldp x23, x24, [sp, #48]
    ldp x21, x22, [sp, #32]
    ldp x19, x20, [sp, #16]
    ldp x29, x30, [sp], #176
    ret
    .cfi_endproc
    .size abi_call_trampoline, . - abi_call_trampoline

    .section .note.GNU-stack, "", @progbits
