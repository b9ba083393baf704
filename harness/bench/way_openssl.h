/*
 * How OpenSSL and its descendants (BoringSSL, AWS-LC, ring) call their kernels: the key is two
 * numbers, the table has 256 bytes, an update takes whole blocks. A last partial block is padded
 * here, as cheaply as C can.
 */
#ifndef GHASHGEN_BENCH_WAY_OPENSSL_H
#define GHASHGEN_BENCH_WAY_OPENSSL_H

#include "../reference.h"
#include "bench.h"

#define OPENSSL_TABLE_BYTES 256

typedef void openssl_init(struct block table[16], const uint64_t h[2]);
typedef void openssl_ghash(uint8_t x[16], const struct block table[16], const uint8_t *in,
                           size_t len);

static inline void openssl_fill_table(kernel_entry entry, struct block *table, const uint8_t *h)
{
    const uint64_t words[2] = {load64_be(h), load64_be(h + 8)};
    ((openssl_init *)entry)(table, words);
}

static inline void openssl_hash(kernel_entry entry, const struct block *table, uint8_t *x,
                                const uint8_t *in, size_t len)
{
    openssl_ghash *ghash = (openssl_ghash *)entry;
    size_t rest = len % 16;
    if (len >= 16)
        ghash(x, table, in, len - rest);
    if (rest) {
        uint8_t last[16] = {0};
        memcpy(last, in + len - rest, rest);
        ghash(x, table, last, 16);
    }
}

#define OPENSSL_INIT(s, table, h) openssl_fill_table((s)->init, (table), (h))
#define OPENSSL_UPDATE(s, table, x, in, len)                                                       \
    openssl_hash((s)->update, (table), (x), (in), (len))

/* The words that such an object may read to choose a path: CPUID.1:EDX, ECX, then CPUID.7:EBX, ECX. */
void openssl_capabilities(void);

#endif
