/* The two kernel tables as one list, and calls by convention. */
#include "kernel.h"

const struct ghashgen_kernel *kernel_at(size_t i)
{
    if (i < reference_kernel_count)
        return &reference_kernels[i];
    i -= reference_kernel_count;
    return i < ghashgen_kernel_count ? &ghashgen_kernels[i] : NULL;
}

const struct ghashgen_kernel *kernel_find(const char *name)
{
    const struct ghashgen_kernel *k;
    for (size_t i = 0; (k = kernel_at(i)) != NULL; i++)
        if (strcmp(k->name, name) == 0)
            return k;
    return NULL;
}

kernel_entry kernel_function(const struct ghashgen_kernel *k, const char *name)
{
    for (const struct kernel_function *f = k->functions; f->name; f++)
        if (strcmp(f->name, name) == 0)
            return f->entry;
    return NULL;
}

typedef uint64_t words(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                       uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

uint64_t kernel_call(const struct ghashgen_kernel *k, kernel_entry entry,
                     const uint64_t a[KERNEL_ARGUMENTS])
{
    _Static_assert(KERNEL_ARGUMENTS == 12, "all arguments are passed");
    if (kernel_is_win64(k))
        return win64_call(entry, a);
    return ((words *)entry)(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10],
                            a[11]);
}
