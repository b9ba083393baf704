/* Offsets in struct abi_frame, shared by abi.c and abi_call.S (abi.c asserts them). */
#ifndef GHASHGEN_ABI_LAYOUT_H
#define GHASHGEN_ABI_LAYOUT_H

#define FRAME_TARGET 0
#define FRAME_ARGS 8
#define FRAME_WIN64 40
#define FRAME_STACK 48
#define FRAME_VECTORS 56
#define FRAME_DIRTY 64
#define FRAME_XINUSE_OK 72
#define FRAME_OWN_RSP 80
#define FRAME_GARBAGE 88
#define FRAME_SENTINELS 96
#define FRAME_OWN_MXCSR 160
#define FRAME_OWN_FPCW 164
#define FRAME_OUT_REGISTERS 168
#define FRAME_OUT_RSP 232
#define FRAME_OUT_FLAGS 240
#define FRAME_OUT_MXCSR 248
#define FRAME_OUT_FPCW 252
#define FRAME_OUT_XINUSE 256
#define FRAME_FILL 320
#define FRAME_OUT_VECTORS 2368
#define FRAME_BYTES 4416

#endif
