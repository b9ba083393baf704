/*
 * Calls by the Win64 convention. They have this file because gcc 12 at -O2 merges two calls in
 * one function that differ only in ms_abi, and then makes both by one convention.
 */
#include "kernel.h"

#if defined(__x86_64__)
#define WIN64 __attribute__((ms_abi))
#else
#define WIN64
#endif

typedef uint64_t WIN64 words(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                             uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

uint64_t win64_call(kernel_entry entry, const uint64_t a[KERNEL_ARGUMENTS])
{
    _Static_assert(KERNEL_ARGUMENTS == 12, "all arguments are passed");
    return ((words *)entry)(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10],
                            a[11]);
}
