/*
 * ref_4bit: Shoup's method with a table of the 16 multiples n*H, deg n < 4 (256 bytes).
 * NOT constant-time: the state selects the cache lines that are read.
 * In a nibble as in a block the highest bit is the coefficient of x^0.
 */
#include "reference.h"

/* x^128 = x^7 + x^2 + x + 1. Bit k of the nibble shifted out is x^(131-k), hence Q times x^(3-k). */
#define Q (UINT64_C(0xE1) << 56)
#define FOLD(n)                                                                                    \
    (((n) & 8 ? Q : 0) ^ ((n) & 4 ? Q >> 1 : 0) ^ ((n) & 2 ? Q >> 2 : 0) ^ ((n) & 1 ? Q >> 3 : 0))

static const uint64_t fold4[16] = {
    FOLD(0), FOLD(1), FOLD(2),  FOLD(3),  FOLD(4),  FOLD(5),  FOLD(6),  FOLD(7),
    FOLD(8), FOLD(9), FOLD(10), FOLD(11), FOLD(12), FOLD(13), FOLD(14), FOLD(15),
};

void ref_4bit_init(void *table, const uint8_t h[16])
{
    struct block *m = table;
    struct block v = load_block(h);
    m[0] = (struct block){0, 0};
    for (unsigned n = 8; n > 0; n >>= 1) {
        m[n] = v; /* n = 8, 4, 2, 1: H, H*x, H*x^2, H*x^3 */
        uint64_t x127 = v.lo & 1;
        v.lo = v.lo >> 1 | v.hi << 63;
        v.hi = v.hi >> 1 ^ (Q & (0 - x127));
    }
    for (unsigned top = 2; top < 16; top <<= 1)
        for (unsigned n = 1; n < top; n++)
            m[top + n] = (struct block){m[top].hi ^ m[n].hi, m[top].lo ^ m[n].lo};
}

static struct block horner_step(struct block z, const struct block *m, unsigned nibble)
{
    uint64_t out = z.lo & 15;
    z.lo = (z.lo >> 4 | z.hi << 60) ^ m[nibble].lo;
    z.hi = z.hi >> 4 ^ fold4[out] ^ m[nibble].hi;
    return z;
}

void ref_4bit_mul(const void *table, uint8_t x[16])
{
    const struct block *m = table;
    struct block z = {0, 0};
    for (int i = 15; i >= 0; i--) {
        z = horner_step(z, m, x[i] & 15);
        z = horner_step(z, m, x[i] >> 4);
    }
    store_block(x, z);
}

void ref_4bit_update(const void *table, uint8_t x[16], const uint8_t *in, size_t len)
{
    reference_update(ref_4bit_mul, table, x, in, len);
}
