/* What a callee must leave as it was: Procedure Call Standard for the Arm 64-bit Architecture, 6.1.
 * x18 belongs to the platform on some systems, so no kernel may touch it. */
#include "abi.h"

#include <stddef.h>
#include <string.h>

#include "abi_layout.h"

#define ARGUMENT_REGISTERS 8
#define FIRST_KEPT 18 /* x18 to x29 */
#define KEPT_COUNT 12
#define FIRST_VECTOR 8 /* d8 to d15 */
#define VECTOR_COUNT 8

const char *const abi_violation_names[] = {
    "x18 changed",
    "x19 changed",
    "x20 changed",
    "x21 changed",
    "x22 changed",
    "x23 changed",
    "x24 changed",
    "x25 changed",
    "x26 changed",
    "x27 changed",
    "x28 changed",
    "x29 changed",
    "d8 changed",
    "d9 changed",
    "d10 changed",
    "d11 changed",
    "d12 changed",
    "d13 changed",
    "d14 changed",
    "d15 changed",
    "sp not restored",
    "caller's stack written",
    "FPCR changed",
};
const size_t abi_violation_count = sizeof abi_violation_names / sizeof abi_violation_names[0];

#define ABI_GENERAL(i) (UINT64_C(1) << (i))
#define ABI_VECTOR(i) (UINT64_C(1) << (KEPT_COUNT + (i)))
#define ABI_SP (UINT64_C(1) << 20)
#define ABI_CALLER_STACK (UINT64_C(1) << 21)
#define ABI_FPCR (UINT64_C(1) << 22)

struct abi_frame {
    kernel_entry target;
    uint8_t *stack; /* sp before the call */
    uint64_t args[ARGUMENT_REGISTERS], garbage, own_sp, own_fpcr, out_sp, out_fpcr, out_result;
    uint64_t sentinels[KEPT_COUNT], out_registers[KEPT_COUNT];
    uint8_t fill[32][16], out_vectors[32][16];
};

#define ASSERT_AT(field, offset)                                                                   \
    _Static_assert(offsetof(struct abi_frame, field) == (offset), #field " moved")
ASSERT_AT(target, FRAME_TARGET);
ASSERT_AT(stack, FRAME_STACK);
ASSERT_AT(args, FRAME_ARGS);
ASSERT_AT(garbage, FRAME_GARBAGE);
ASSERT_AT(own_sp, FRAME_OWN_SP);
ASSERT_AT(own_fpcr, FRAME_OWN_FPCR);
ASSERT_AT(out_sp, FRAME_OUT_SP);
ASSERT_AT(out_fpcr, FRAME_OUT_FPCR);
ASSERT_AT(out_result, FRAME_OUT_RESULT);
ASSERT_AT(sentinels, FRAME_SENTINELS);
ASSERT_AT(out_registers, FRAME_OUT_REGISTERS);
ASSERT_AT(fill, FRAME_FILL);
ASSERT_AT(out_vectors, FRAME_OUT_VECTORS);
_Static_assert(sizeof(struct abi_frame) == FRAME_BYTES, "abi_frame changed its size");

void abi_call_trampoline(void);

__attribute__((visibility("hidden"))) _Alignas(64) struct abi_frame abi_frame;

#define STACK_BYTES 65536
#define CALLER_BYTES 240 /* of canaries above the call; a multiple of 16 */

int abi_available(void)
{
    return 1;
}

static uint64_t violations_in(const struct abi_frame *f)
{
    uint64_t found = 0;
    for (unsigned i = 0; i < KEPT_COUNT; i++)
        if (f->out_registers[i] != f->sentinels[i])
            found |= ABI_GENERAL(i);
    /* Only the low 64 bits of these. */
    for (unsigned i = 0; i < VECTOR_COUNT; i++)
        if (memcmp(f->out_vectors[FIRST_VECTOR + i], f->fill[FIRST_VECTOR + i], 8) != 0)
            found |= ABI_VECTOR(i);
    if (f->out_sp != (uint64_t)(uintptr_t)f->stack)
        found |= ABI_SP;
    if (f->out_fpcr != f->own_fpcr)
        found |= ABI_FPCR;
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
    size_t callees = 0; /* what the callee may write to */
    (void)k;
    (void)dirty_upper; /* every register holds garbage anyway */
    f->target = entry;
    for (size_t i = 0; i < CALLER_BYTES; i++)
        f->stack[i] = caller_byte(i);
    for (size_t i = 0; i < ARGUMENT_REGISTERS; i++)
        f->args[i] = i < count ? args[i] : f->garbage;
    for (size_t i = ARGUMENT_REGISTERS; i < count; i++, callees += 8)
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
    struct abi_frame *f = &abi_frame;
    if (guard_open(&abi_stack_guard, "stack", STACK_BYTES) != 0)
        return -1;
    f->stack = guard_place_start(&abi_stack_guard, STACK_BYTES, 0) + STACK_BYTES - CALLER_BYTES;
    /* Not a valid address, so that a use as a pointer faults. */
    f->garbage = UINT64_C(0x00E5A1B2C3D4E5F6);
    for (unsigned i = 0; i < KEPT_COUNT; i++)
        f->sentinels[i] = UINT64_C(0xC5A7E1B35D917F00) + 0x11 * (i + 1);
    for (unsigned i = 0; i < 32; i++)
        for (unsigned byte = 0; byte < 16; byte++)
            f->fill[i][byte] = (uint8_t)(((i * 16 + byte) * 151 + 7) | 1);
    return 0;
}
