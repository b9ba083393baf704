/* What the portable kernels share: byte order and the block loop. */
#ifndef GHASHGEN_REFERENCE_H
#define GHASHGEN_REFERENCE_H

#include <stddef.h>
#include <stdint.h>

#include "ghash.h"

/* A block read big-endian: bit 63 of hi is the coefficient of x^0, bit 0 of lo that of x^127. */
struct block {
    uint64_t hi, lo;
};

static inline uint64_t load64_be(const uint8_t *p)
{
    uint64_t v = 0;
    for (int i = 0; i < 8; i++)
        v = v << 8 | p[i];
    return v;
}

static inline void store64_be(uint8_t *p, uint64_t v)
{
    for (int i = 7; i >= 0; i--, v >>= 8)
        p[i] = (uint8_t)v;
}

static inline struct block load_block(const uint8_t p[16])
{
    return (struct block){load64_be(p), load64_be(p + 8)};
}

static inline void store_block(uint8_t p[16], struct block b)
{
    store64_be(p, b.hi);
    store64_be(p + 8, b.lo);
}

/* x = (x + C) * H for every block C of in, the last one zero-padded: SP 800-38D, algorithm 2. */
static inline void reference_update(native_mul *mul, const void *table, uint8_t x[16],
                                    const uint8_t *in, size_t len)
{
    while (len > 0) {
        size_t n = len < 16 ? len : 16;
        for (size_t i = 0; i < n; i++)
            x[i] ^= in[i];
        mul(table, x);
        in += n;
        len -= n;
    }
}

native_init ref_branching_init, ref_bitwise_init, ref_4bit_init, ref_ctmul64_init;
native_mul ref_branching_mul, ref_bitwise_mul, ref_4bit_mul, ref_ctmul64_mul;
native_update ref_branching_update, ref_bitwise_update, ref_4bit_update, ref_ctmul64_update;

#endif
