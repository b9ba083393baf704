/* Offsets in struct abi_frame, shared by abi.c and abi_call.S (abi.c asserts them). */
#ifndef GHASHGEN_ABI_LAYOUT_H
#define GHASHGEN_ABI_LAYOUT_H

#define FRAME_TARGET 0
#define FRAME_ARGS 8
#define FRAME_WIN64 56
#define FRAME_STACK 64
#define FRAME_VECTORS 72
#define FRAME_DIRTY 80
#define FRAME_XINUSE_OK 88
#define FRAME_OWN_RSP 96
#define FRAME_GARBAGE 104
#define FRAME_SENTINELS 112
#define FRAME_OWN_MXCSR 176
#define FRAME_OWN_FPCW 180
#define FRAME_OUT_REGISTERS 184
#define FRAME_OUT_RSP 248
#define FRAME_OUT_FLAGS 256
#define FRAME_OUT_MXCSR 264
#define FRAME_OUT_FPCW 268
#define FRAME_OUT_XINUSE 272
#define FRAME_OUT_RESULT 280
#define FRAME_FILL 320
#define FRAME_OUT_VECTORS 2368
#define FRAME_BYTES 4416

#endif
