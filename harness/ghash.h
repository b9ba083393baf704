/*
 * The functions of GHASH and POLYVAL kernels, which the harness's own checks and the benchmarks call.
 * State and H are 16 bytes in SP 800-38D order; lengths are in bytes.
 */
#ifndef GHASHGEN_GHASH_H
#define GHASHGEN_GHASH_H

#include "kernel.h"

typedef void native_init(void *, const uint8_t *);
typedef void native_mul(const void *, uint8_t *);
typedef void native_update(const void *, uint8_t *, const uint8_t *, size_t);

struct ghash {
    kernel_entry init, mul, update;
    kernel_entry power, combine; /* NULL where the kernel has none */
};

/* The functions of a kernel, NULL where it has none. */
static inline struct ghash ghash_of(const struct ghashgen_kernel *k)
{
    return (struct ghash){
        .init = kernel_function(k, "init"),
        .mul = kernel_function(k, "mul"),
        .update = kernel_function(k, "update"),
        .power = kernel_function(k, "power"),
        .combine = kernel_function(k, "combine"),
    };
}

#endif
