/*
 * ref_branching: SP 800-38D, algorithm 1 as it is written, with its two branches on a bit of X and
 * on the bit of V that is shifted out. The table is H itself (16 bytes).
 * NOT constant-time: which branch is taken, and so the time, depends on X and H. For comparison
 * only: C without lookup tables, as papers/solaris measures it.
 */
#include "reference.h"

void ref_branching_init(void *table, const uint8_t h[16])
{
    memcpy(table, h, 16);
}

/* Keeps a branch a branch: without it a compiler may, or may not, make a mask of it. */
#define TAKEN(word) __asm__ volatile("" : "+r"(word))

void ref_branching_mul(const void *table, uint8_t x[16])
{
    struct block z = {0, 0};
    struct block v = load_block(table);
    for (int i = 0; i < 128; i++) {
        if (x[i / 8] >> (7 - i % 8) & 1) {
            z.hi ^= v.hi;
            z.lo ^= v.lo;
            TAKEN(z.hi);
        }
        uint64_t x127 = v.lo & 1;
        v.lo = v.lo >> 1 | v.hi << 63;
        v.hi >>= 1;
        if (x127) {
            v.hi ^= UINT64_C(0xE1) << 56;
            TAKEN(v.hi);
        }
    }
    store_block(x, z);
}

void ref_branching_update(const void *table, uint8_t x[16], const uint8_t *in, size_t len)
{
    reference_update(ref_branching_mul, table, x, in, len);
}
