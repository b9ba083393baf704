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

void kernel_init(const struct ghashgen_kernel *k, void *table, const uint8_t *h)
{
    if (kernel_is_win64(k))
        win64_call_init(k->init, table, h);
    else
        ((native_init *)k->init)(table, h);
}

void kernel_mul(const struct ghashgen_kernel *k, const void *table, uint8_t *x)
{
    if (kernel_is_win64(k))
        win64_call_mul(k->mul, table, x);
    else
        ((native_mul *)k->mul)(table, x);
}

void kernel_update(const struct ghashgen_kernel *k, const void *table, uint8_t *x,
                   const uint8_t *in, size_t len)
{
    if (kernel_is_win64(k))
        win64_call_update(k->update, table, x, in, len);
    else
        ((native_update *)k->update)(table, x, in, len);
}

void kernel_power(const struct ghashgen_kernel *k, const void *table, uint8_t *y, uint64_t m)
{
    if (kernel_is_win64(k))
        win64_call_power(k->power, table, y, m);
    else
        ((native_power *)k->power)(table, y, m);
}

void kernel_combine(const struct ghashgen_kernel *k, uint8_t *x, const uint8_t *y, const uint8_t *p)
{
    if (kernel_is_win64(k))
        win64_call_combine(k->combine, x, y, p);
    else
        ((native_combine *)k->combine)(x, y, p);
}
