/* What a callee must preserve: System V AMD64 psABI 3.2.1-3.2.3, and the x64 convention of
 * Windows (non-volatile rdi, rsi, xmm6-xmm15; 32 bytes of shadow space that the callee may use). */
#include "abi.h"

#include <stddef.h>
#include <string.h>

#include "abi_layout.h"
#include "cpu.h"
#include "xinuse.h"

/* Violations, as bits; bits 0-7 and 8-17 are registers in the order of abi_violation_names. */
#define ABI_GENERAL(i) (UINT64_C(1) << (i))
#define ABI_XMM(i) (UINT64_C(1) << (8 + (i) - 6))
#define ABI_RSP (UINT64_C(1) << 18)
#define ABI_CALLER_STACK (UINT64_C(1) << 19)
#define ABI_DIRECTION (UINT64_C(1) << 20)
#define ABI_MXCSR (UINT64_C(1) << 21)
#define ABI_X87 (UINT64_C(1) << 22)
#define ABI_UPPER (UINT64_C(1) << 23)

const char *const abi_violation_names[] = {
    "rbx changed",
    "rbp changed",
    "rdi changed",
    "rsi changed",
    "r12 changed",
    "r13 changed",
    "r14 changed",
    "r15 changed",
    "xmm6 changed",
    "xmm7 changed",
    "xmm8 changed",
    "xmm9 changed",
    "xmm10 changed",
    "xmm11 changed",
    "xmm12 changed",
    "xmm13 changed",
    "xmm14 changed",
    "xmm15 changed",
    "rsp not restored",
    "caller's stack written",
    "direction flag set",
    "MXCSR control bits changed",
    "x87 control word changed",
    "upper vector halves dirty (vzeroupper missing)",
};
const size_t abi_violation_count = sizeof abi_violation_names / sizeof abi_violation_names[0];

#define ARGUMENT_REGISTERS 6 /* of System V; Win64 takes the first four */
#define WIN64_REGISTERS 4

struct abi_frame {
    kernel_entry target;
    uint64_t args[ARGUMENT_REGISTERS], win64;
    uint8_t *stack;   /* rsp before the call */
    uint64_t vectors; /* 0 xmm, 1 ymm, 2 zmm */
    uint64_t dirty, xinuse_ok, own_rsp, garbage;
    uint64_t sentinels[8]; /* rbx rbp rdi rsi r12 r13 r14 r15 */
    uint32_t own_mxcsr;
    uint16_t own_fpcw, pad;
    uint64_t out_registers[8], out_rsp, out_flags;
    uint32_t out_mxcsr;
    uint16_t out_fpcw, pad2;
    uint64_t out_xinuse, out_result, pad3[4];
    uint8_t fill[32][64], out_vectors[32][64];
};

#define ASSERT_AT(field, offset)                                                                   \
    _Static_assert(offsetof(struct abi_frame, field) == (offset), #field " moved")
ASSERT_AT(target, FRAME_TARGET);
ASSERT_AT(args, FRAME_ARGS);
ASSERT_AT(win64, FRAME_WIN64);
ASSERT_AT(stack, FRAME_STACK);
ASSERT_AT(vectors, FRAME_VECTORS);
ASSERT_AT(dirty, FRAME_DIRTY);
ASSERT_AT(xinuse_ok, FRAME_XINUSE_OK);
ASSERT_AT(own_rsp, FRAME_OWN_RSP);
ASSERT_AT(garbage, FRAME_GARBAGE);
ASSERT_AT(sentinels, FRAME_SENTINELS);
ASSERT_AT(own_mxcsr, FRAME_OWN_MXCSR);
ASSERT_AT(own_fpcw, FRAME_OWN_FPCW);
ASSERT_AT(out_registers, FRAME_OUT_REGISTERS);
ASSERT_AT(out_rsp, FRAME_OUT_RSP);
ASSERT_AT(out_flags, FRAME_OUT_FLAGS);
ASSERT_AT(out_mxcsr, FRAME_OUT_MXCSR);
ASSERT_AT(out_fpcw, FRAME_OUT_FPCW);
ASSERT_AT(out_xinuse, FRAME_OUT_XINUSE);
ASSERT_AT(out_result, FRAME_OUT_RESULT);
ASSERT_AT(fill, FRAME_FILL);
ASSERT_AT(out_vectors, FRAME_OUT_VECTORS);
_Static_assert(sizeof(struct abi_frame) == FRAME_BYTES, "abi_frame changed its size");

void abi_call_trampoline(void);
void abi_call_nothing(void);

__attribute__((visibility("hidden"))) _Alignas(64) struct abi_frame abi_frame;

/* XCR0 numbering: AVX (ymm0-15, bits 128-255) and ZMM_Hi256 (zmm0-15, bits 256-511). */
#define XINUSE_UPPER (UINT64_C(1) << 2 | UINT64_C(1) << 6)
#define MXCSR_CONTROL 0xFFC0u /* the low six bits are sticky status, free to change */
#define FLAG_DIRECTION (UINT64_C(1) << 10)
#define STACK_BYTES 65536
#define SHADOW_BYTES 32
#define CALLER_BYTES 240 /* of canaries above the call; leaves rsp = 16 mod 64, no more aligned */

enum { RBX, RBP, RDI, RSI, R12, R13, R14, R15, GENERAL_COUNT };
/* rdi and rsi are volatile in SysV. */
#define SYSV_GENERAL                                                                               \
    (1u << RBX | 1u << RBP | 1u << R12 | 1u << R13 | 1u << R14 | 1u << R15)
#define WIN64_GENERAL (SYSV_GENERAL | 1u << RDI | 1u << RSI)

int abi_available(void)
{
    return 1;
}

static uint64_t violations_in(const struct abi_frame *f)
{
    uint64_t found = 0;
    unsigned saved = f->win64 ? WIN64_GENERAL : SYSV_GENERAL;
    for (unsigned i = 0; i < GENERAL_COUNT; i++)
        if (saved >> i & 1 && f->out_registers[i] != f->sentinels[i])
            found |= ABI_GENERAL(i);
    for (unsigned i = 6; f->win64 && i < 16; i++)
        if (memcmp(f->out_vectors[i], f->fill[i], 16) != 0)
            found |= ABI_XMM(i);
    if (f->out_rsp != (uint64_t)(uintptr_t)f->stack)
        found |= ABI_RSP;
    if (f->out_flags & FLAG_DIRECTION)
        found |= ABI_DIRECTION;
    if ((f->out_mxcsr ^ f->own_mxcsr) & MXCSR_CONTROL)
        found |= ABI_MXCSR;
    if (f->out_fpcw != f->own_fpcw)
        found |= ABI_X87;
    size_t width = f->vectors == 2 ? 64 : f->vectors == 1 ? 32 : 16;
    for (unsigned i = 0; !f->dirty && i < 16; i++)
        for (size_t byte = 16; byte < width; byte++)
            if (f->out_vectors[i][byte])
                found |= ABI_UPPER;
    if (f->xinuse_ok && !f->dirty && f->out_xinuse & XINUSE_UPPER)
        found |= ABI_UPPER;
    return found;
}

static uint8_t caller_byte(size_t i)
{
    return (uint8_t)(i * 29 + 0x63);
}

uint64_t abi_call(const struct ghashgen_kernel *k, kernel_entry entry, const uint64_t *args,
                  size_t count, int dirty_upper)
{
    struct abi_frame *f = &abi_frame;
    f->target = entry;
    f->win64 = (uint64_t)kernel_is_win64(k);
    f->dirty = (uint64_t)(dirty_upper != 0);
    for (size_t i = 0; i < CALLER_BYTES; i++)
        f->stack[i] = caller_byte(i);
    size_t registers = f->win64 ? WIN64_REGISTERS : ARGUMENT_REGISTERS;
    size_t callees = f->win64 ? SHADOW_BYTES : 0; /* what the callee may write to */
    for (size_t i = 0; i < ARGUMENT_REGISTERS; i++)
        f->args[i] = i < count && i < registers ? args[i] : f->garbage;
    for (size_t i = registers; i < count; i++, callees += 8)
        memcpy(f->stack + callees, &args[i], 8);

    abi_call_trampoline();

    uint64_t found = violations_in(f);
    for (size_t i = callees; i < CALLER_BYTES; i++)
        if (f->stack[i] != caller_byte(i))
            found |= ABI_CALLER_STACK;
    return found;
}

uint64_t abi_result(void)
{
    return abi_frame.out_result;
}

int abi_open(void)
{
    static const struct ghashgen_kernel nothing = {.name = "nothing", .abi = "sysv"};
    struct abi_frame *f = &abi_frame;
    if (guard_open(&abi_stack_guard, "stack", STACK_BYTES) != 0)
        return -1;
    f->stack = guard_place_start(&abi_stack_guard, STACK_BYTES, 0) + STACK_BYTES - CALLER_BYTES;
    uint64_t features = cpu_features();
    f->vectors = features & CPU_AVX512F ? 2 : features & CPU_AVX ? 1 : 0;
    /* Not canonical as addresses, so that a use as a pointer faults; no byte of them is zero. */
    f->garbage = UINT64_C(0xD1E5A1B2C3D4E5F6);
    for (unsigned i = 0; i < GENERAL_COUNT; i++)
        f->sentinels[i] = UINT64_C(0xC5A7E1B35D917F00) + 0x11 * (i + 1);
    for (unsigned i = 0; i < 32; i++)
        for (unsigned byte = 0; byte < 64; byte++)
            f->fill[i][byte] = (uint8_t)(((i * 64 + byte) * 151 + 7) | 1);
    /*
     * XINUSE may by the manual stay set for state in its initial configuration: rely on it only
     * where it is clear after a callee that does nothing.
     */
    f->xinuse_ok = features & CPU_AVX && cpu_has_xinuse();
    if (f->xinuse_ok && abi_call(&nothing, abi_call_nothing, NULL, 0, 0) & ABI_UPPER)
        f->xinuse_ok = 0;
    return 0;
}
