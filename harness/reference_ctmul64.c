/*
 * ref_ctmul64: constant-time wherever the 64-bit integer multiplication is, without tables that
 * depend on the state: multiplication with holes and bit reversal, the method that BearSSL
 * popularised (T. Pornin, https://www.bearssl.org/constanttime.html).
 */
#include "reference.h"

/* Every fourth bit: a product of two such numbers has its column sums in the three-bit holes. */
static const uint64_t every4[4] = {
    UINT64_C(0x1111111111111111),
    UINT64_C(0x2222222222222222),
    UINT64_C(0x4444444444444444),
    UINT64_C(0x8888888888888888),
};

/*
 * Low 64 bits of the carry-less product. A column sums at most 15 ones, which fits in four bits,
 * except the top one with 16, whose carry leaves the word.
 */
static uint64_t clmul_low(uint64_t a, uint64_t b)
{
    uint64_t product = 0;
    for (unsigned k = 0; k < 4; k++) {
        uint64_t column = 0;
        for (unsigned i = 0; i < 4; i++)
            column ^= (a & every4[i]) * (b & every4[(k - i) & 3]);
        product |= column & every4[k];
    }
    return product;
}

static uint64_t swap_bits(uint64_t v, unsigned distance, uint64_t mask)
{
    return (v & mask) << distance | (v >> distance & mask);
}

static uint64_t reverse64(uint64_t v)
{
    v = swap_bits(v, 1, UINT64_C(0x5555555555555555));
    v = swap_bits(v, 2, UINT64_C(0x3333333333333333));
    v = swap_bits(v, 4, UINT64_C(0x0F0F0F0F0F0F0F0F));
    v = swap_bits(v, 8, UINT64_C(0x00FF00FF00FF00FF));
    v = swap_bits(v, 16, UINT64_C(0x0000FFFF0000FFFF));
    return v << 32 | v >> 32;
}

/* B0, B1, B0 + B1 and their reversals. */
struct ctmul64_table {
    uint64_t b[3], reversed[3];
};

void ref_ctmul64_init(void *table, const uint8_t h[16])
{
    struct ctmul64_table *t = table;
    struct block B = load_block(h);
    t->b[0] = B.lo;
    t->b[1] = B.hi;
    t->b[2] = B.lo ^ B.hi;
    for (int i = 0; i < 3; i++)
        t->reversed[i] = reverse64(t->b[i]);
}

void ref_ctmul64_mul(const void *table, uint8_t x[16])
{
    const struct ctmul64_table *t = table;
    struct block A = load_block(x);
    const uint64_t a[3] = {A.lo, A.hi, A.lo ^ A.hi};
    uint64_t low[3], high[3];
    for (int i = 0; i < 3; i++) {
        low[i] = clmul_low(a[i], t->b[i]);
        /* rev(a)*rev(b) is the reversal of the 127-bit a*b: its low word is the high one, 1 up. */
        high[i] = reverse64(clmul_low(reverse64(a[i]), t->reversed[i])) >> 1;
    }
    /* Karatsuba: the middle product is (A0+A1)(B0+B1) + A0B0 + A1B1. */
    low[2] ^= low[0] ^ low[1];
    high[2] ^= high[0] ^ high[1];
    uint64_t p0 = low[0], p1 = high[0] ^ low[2], p2 = low[1] ^ high[2], p3 = high[1];

    /* The reflected product reads as A*B*x^-1 on the 256-bit grid: one up. */
    p3 = p3 << 1 | p2 >> 63;
    p2 = p2 << 1 | p1 >> 63;
    p1 = p1 << 1 | p0 >> 63;
    p0 = p0 << 1;

    /* Fold p0 (x^192..x^255), then p1 (x^128..x^191), by Q: x is one to the right. */
    p2 ^= p0 ^ p0 >> 1 ^ p0 >> 2 ^ p0 >> 7;
    p1 ^= p0 << 63 ^ p0 << 62 ^ p0 << 57;
    p3 ^= p1 ^ p1 >> 1 ^ p1 >> 2 ^ p1 >> 7;
    p2 ^= p1 << 63 ^ p1 << 62 ^ p1 << 57;
    store_block(x, (struct block){p3, p2});
}

void ref_ctmul64_update(const void *table, uint8_t x[16], const uint8_t *in, size_t len)
{
    reference_update(ref_ctmul64_mul, table, x, in, len);
}
