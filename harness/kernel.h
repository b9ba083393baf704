/*
 * A kernel of any family as the harness sees it, and calls to it by its convention.
 */
#ifndef GHASHGEN_KERNEL_H
#define GHASHGEN_KERNEL_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef void (*kernel_entry)(void);

/* Parameters of a function, at most; `MAX_PARAMS` in ghashgen/kernels/core.py. */
#define KERNEL_ARGUMENTS 12

/* Arguments as kernel_call takes them, the rest being 0. */
#define ARGUMENTS(...) ((const uint64_t[KERNEL_ARGUMENTS]){__VA_ARGS__})

struct kernel_function {
    const char *name;
    kernel_entry entry;
};

struct ghashgen_kernel {
    const char *op; /* "ghash", "polyval", or the name of its family */
    const char *name, *isa, *abi; /* abi: "sysv", "win64", or "c" for the compiler's own */
    uint64_t needs;               /* CPU_* bits */
    unsigned blocks;              /* blocks in one unrolled group */
    size_t table_bytes, table_align;
    unsigned key_bits;            /* of the cipher's key; 0: it has none */
    const struct kernel_function *functions; /* what it exports; the last has no name */
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

/* The exported function of this name, or NULL. */
kernel_entry kernel_function(const struct ghashgen_kernel *k, const char *name);

static inline int kernel_is_win64(const struct ghashgen_kernel *k)
{
    return strcmp(k->abi, "win64") == 0;
}

/* Calls an entry by the kernel's convention. Arguments are pointers and 64-bit numbers. Extra ones do
 * no harm, since in both conventions the caller clears the stack. Returns the function's value;
 * arbitrary for one that returns nothing. */
uint64_t kernel_call(const struct ghashgen_kernel *k, kernel_entry entry,
                 const uint64_t args[KERNEL_ARGUMENTS]);

/* The same for "win64", in a translation unit of its own: see kernel_win64.c. */
uint64_t win64_call(kernel_entry entry, const uint64_t args[KERNEL_ARGUMENTS]);

#endif
