/*
 * Calls by the Win64 convention. They stand alone in this file because gcc 12 at -O2 merges two
 * calls in one function that differ in nothing but ms_abi, and then makes both by one convention.
 */
#include "kernel.h"

#if defined(__x86_64__)
#define WIN64 __attribute__((ms_abi))
#else
#define WIN64
#endif

typedef void WIN64 win64_init(void *, const uint8_t *);
typedef void WIN64 win64_mul(const void *, uint8_t *);
typedef void WIN64 win64_update(const void *, uint8_t *, const uint8_t *, size_t);
typedef void WIN64 win64_power(const void *, uint8_t *, uint64_t);
typedef void WIN64 win64_combine(uint8_t *, const uint8_t *, const uint8_t *);

void win64_call_init(kernel_entry entry, void *table, const uint8_t *h)
{
    ((win64_init *)entry)(table, h);
}

void win64_call_mul(kernel_entry entry, const void *table, uint8_t *x)
{
    ((win64_mul *)entry)(table, x);
}

void win64_call_update(kernel_entry entry, const void *table, uint8_t *x, const uint8_t *in,
                       size_t len)
{
    ((win64_update *)entry)(table, x, in, len);
}

void win64_call_power(kernel_entry entry, const void *table, uint8_t *y, uint64_t m)
{
    ((win64_power *)entry)(table, y, m);
}

void win64_call_combine(kernel_entry entry, uint8_t *x, const uint8_t *y, const uint8_t *p)
{
    ((win64_combine *)entry)(x, y, p);
}
