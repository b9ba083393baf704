/*
 * ref_bitwise: SP 800-38D, algorithm 1, one bit of X a step. The table is H itself (16 bytes).
 * The masks replace its two branches, so that the time does not depend on X or H.
 */
#include "reference.h"

void ref_bitwise_init(void *table, const uint8_t h[16])
{
    memcpy(table, h, 16);
}

void ref_bitwise_mul(const void *table, uint8_t x[16])
{
    struct block z = {0, 0};
    struct block v = load_block(table);
    for (int i = 0; i < 128; i++) {
        uint64_t x_i = x[i / 8] >> (7 - i % 8) & 1;
        z.hi ^= v.hi & (0 - x_i);
        z.lo ^= v.lo & (0 - x_i);
        uint64_t x127 = v.lo & 1;
        v.lo = v.lo >> 1 | v.hi << 63;
        v.hi = v.hi >> 1 ^ (UINT64_C(0xE1) << 56 & (0 - x127));
    }
    store_block(x, z);
}

void ref_bitwise_update(const void *table, uint8_t x[16], const uint8_t *in, size_t len)
{
    reference_update(ref_bitwise_mul, table, x, in, len);
}
