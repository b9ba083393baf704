/* The interleaved split of the runtime against one thread: LONGEST STEP THREADS SPIN_NS. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ghashgen_threads.h"
#include "reference.h"

enum { CROSSOVER = 512 };

static void update(const void *table, uint8_t x[16], const uint8_t *in, size_t len)
{
    ref_ctmul64_update(table, x, in, len);
}

static void combine(uint8_t x[16], const uint8_t y[16], const uint8_t p[16])
{
    uint64_t P[6];
    ref_ctmul64_init(P, p);
    ref_ctmul64_mul(P, x);
    for (int i = 0; i < 16; i++)
        x[i] ^= y[i];
}

/* A table of H^n, and n. */
struct column_table {
    uint64_t P[6];
    size_t count;
};

static void column(const void *table, uint8_t x[16], const uint8_t *in, size_t len)
{
    const struct column_table *t = table;
    for (size_t at = 0; at < len; at += 16 * t->count)
        ref_ctmul64_update(t->P, x, in + at, 16);
}

int main(int argc, char **argv)
{
    static const uint8_t h[16] = {0x66, 0xe9, 0x4b, 0xd4, 0xef, 0x8a, 0x2c, 0x3b};
    static const size_t counts[] = {2, 4, 8};
    struct column_table tables[3];
    size_t longest = argc == 5 ? strtoull(argv[1], NULL, 10) : 0, step;
    struct ghashgen_pool_key key;
    struct ghashgen_pool *pool;
    uint64_t table[6];
    uint8_t *in;
    if (!longest)
        return 2;
    step = strtoull(argv[2], NULL, 10);
    in = malloc(longest);
    pool = ghashgen_pool_create((unsigned)strtoul(argv[3], NULL, 10));
    ghashgen_pool_limits(pool, CROSSOVER, (unsigned)strtoul(argv[4], NULL, 10));
    for (size_t i = 0; i < longest; i++)
        in[i] = (uint8_t)((uint32_t)i * 2654435761u >> 24);
    ref_ctmul64_init(table, h);
    ghashgen_pool_key_init(&key, update, combine, table, h);
    for (size_t i = 0; i < 3; i++) {
        uint8_t power[16];
        memcpy(power, h, 16);
        for (size_t j = 1; j < counts[i]; j++)
            ref_ctmul64_mul(table, power);
        ref_ctmul64_init(tables[i].P, power);
        tables[i].count = counts[i];
    }
    for (size_t len = 0; len <= longest; len += step)
        for (size_t i = 0; i < 3; i++) {
            const struct ghashgen_pool_columns columns = {column, &tables[i], counts[i]};
            uint8_t x[16] = {1, 2, 3}, right[16] = {1, 2, 3};
            ghashgen_pool_hash_interleaved(pool, &key, &columns, x, in, len);
            update(table, right, in, len);
            if (memcmp(x, right, 16) != 0) {
                printf("%zu bytes in %zu columns\n", len, counts[i]);
                return 1;
            }
        }
    ghashgen_pool_destroy(pool);
    free(in);
    return 0;
}
