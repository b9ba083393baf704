/* Offsets in struct abi_frame, shared by abi.c and abi_call.S (abi.c asserts them). */
#ifndef GHASHGEN_ABI_LAYOUT_H
#define GHASHGEN_ABI_LAYOUT_H

#define FRAME_TARGET 0
#define FRAME_STACK 8
#define FRAME_ARGS 16
#define FRAME_GARBAGE 80
#define FRAME_OWN_SP 88
#define FRAME_OWN_FPCR 96
#define FRAME_OUT_SP 104
#define FRAME_OUT_FPCR 112
#define FRAME_OUT_RESULT 120
#define FRAME_SENTINELS 128
#define FRAME_OUT_REGISTERS 224
#define FRAME_FILL 320
#define FRAME_OUT_VECTORS 832
#define FRAME_BYTES 1344

#endif
