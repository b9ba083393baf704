/*
 * A kernel as the harness sees it, and calls to it by its convention.
 * State and H are 16 bytes in SP 800-38D order; lengths are in bytes.
 */
#ifndef GHASHGEN_KERNEL_H
#define GHASHGEN_KERNEL_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef void (*kernel_entry)(void);

struct ghashgen_kernel {
    const char *op; /* "ghash" or "polyval" */
    const char *name, *isa, *abi; /* abi: "sysv", "win64", or "c" for the compiler's own */
    uint64_t needs;               /* CPU_* bits */
    unsigned blocks;              /* blocks in one unrolled group */
    size_t table_bytes, table_align;
    kernel_entry init, mul, update;
    kernel_entry power, combine; /* NULL where the kernel has none */
};

/* The emitted kernels, rendered by templates/kernel_table.c.j2. */
extern const struct ghashgen_kernel ghashgen_kernels[];
extern const size_t ghashgen_kernel_count;

/* The portable kernels of reference.c. */
extern const struct ghashgen_kernel reference_kernels[];
extern const size_t reference_kernel_count;

/* Kernel number i of both tables, the portable ones first; NULL past the last. */
const struct ghashgen_kernel *kernel_at(size_t i);
const struct ghashgen_kernel *kernel_find(const char *name);

static inline int kernel_is_win64(const struct ghashgen_kernel *k)
{
    return strcmp(k->abi, "win64") == 0;
}

typedef void native_init(void *, const uint8_t *);
typedef void native_mul(const void *, uint8_t *);
typedef void native_update(const void *, uint8_t *, const uint8_t *, size_t);
typedef void native_power(const void *, uint8_t *, uint64_t);
typedef void native_combine(uint8_t *, const uint8_t *, const uint8_t *);

/* Calls of a kernel's entries by its convention. */
void kernel_init(const struct ghashgen_kernel *k, void *table, const uint8_t *h);
void kernel_mul(const struct ghashgen_kernel *k, const void *table, uint8_t *x);
void kernel_update(const struct ghashgen_kernel *k, const void *table, uint8_t *x,
                   const uint8_t *in, size_t len);
void kernel_power(const struct ghashgen_kernel *k, const void *table, uint8_t *y, uint64_t m);
void kernel_combine(const struct ghashgen_kernel *k, uint8_t *x, const uint8_t *y,
                    const uint8_t *p);

/* The part of them for "win64", in a translation unit of its own: see kernel_win64.c. */
void win64_call_init(kernel_entry entry, void *table, const uint8_t *h);
void win64_call_mul(kernel_entry entry, const void *table, uint8_t *x);
void win64_call_update(kernel_entry entry, const void *table, uint8_t *x, const uint8_t *in,
                       size_t len);
void win64_call_power(kernel_entry entry, const void *table, uint8_t *y, uint64_t m);
void win64_call_combine(kernel_entry entry, uint8_t *x, const uint8_t *y, const uint8_t *p);

#endif
