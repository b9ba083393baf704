/*
 * Points come from ChaCha20 (RFC 8439), a stream for each: a generator that is linear over GF(2), as
 * xorshift is, would put all points into a subspace on which a wrong polynomial may vanish.
 */
#include "points.h"

#include <string.h>

#include "reference.h"

static uint32_t rotate(uint32_t v, int n)
{
    return v << n | v >> (32 - n);
}

static void quarter(uint32_t s[16], int a, int b, int c, int d)
{
    s[a] += s[b], s[d] = rotate(s[d] ^ s[a], 16);
    s[c] += s[d], s[b] = rotate(s[b] ^ s[c], 12);
    s[a] += s[b], s[d] = rotate(s[d] ^ s[a], 8);
    s[c] += s[d], s[b] = rotate(s[b] ^ s[c], 7);
}

static uint32_t load32_le(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Words 13..15 are the nonce: what for, and the point's number. */
static void chacha20(const uint8_t key[32], uint32_t purpose, uint64_t number, uint8_t *out,
                     size_t size)
{
    uint32_t start[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
    for (int i = 0; i < 8; i++)
        start[4 + i] = load32_le(key + 4 * i);
    start[13] = purpose;
    start[14] = (uint32_t)number;
    start[15] = (uint32_t)(number >> 32);
    for (size_t at = 0; at < size; at += 64, start[12]++) {
        uint32_t s[16];
        uint8_t bytes[64];
        memcpy(s, start, sizeof s);
        for (int i = 0; i < 10; i++) {
            quarter(s, 0, 4, 8, 12), quarter(s, 1, 5, 9, 13);
            quarter(s, 2, 6, 10, 14), quarter(s, 3, 7, 11, 15);
            quarter(s, 0, 5, 10, 15), quarter(s, 1, 6, 11, 12);
            quarter(s, 2, 7, 8, 13), quarter(s, 3, 4, 9, 14);
        }
        for (int i = 0; i < 16; i++) {
            uint32_t v = s[i] + start[i];
            for (int k = 0; k < 4; k++)
                bytes[4 * i + k] = (uint8_t)(v >> 8 * k);
        }
        memcpy(out + at, bytes, size - at < 64 ? size - at : 64);
    }
}

static void add(uint8_t x[16], const uint8_t y[16])
{
    for (int i = 0; i < 16; i++)
        x[i] ^= y[i];
}

void map_init(struct map *m, const uint8_t images[128][16])
{
    memset(m, 0, sizeof *m);
    for (int byte = 0; byte < 16; byte++)
        for (int value = 1; value < 256; value++)
            for (int k = 0; k < 8; k++)
                if (value >> k & 1)
                    add(m->at[byte][value], images[8 * byte + k]);
}

void map_apply(const struct map *m, const uint8_t in[16], uint8_t out[16])
{
    uint8_t sum[16] = {0};
    for (int byte = 0; byte < 16; byte++)
        add(sum, m->at[byte][in[byte]]);
    memcpy(out, sum, 16);
}

/* A block in memory order: POLYVAL's bytes are reversed (RFC 8452, appendix A). */
static void turn(const struct points *all, const uint8_t in[16], uint8_t out[16])
{
    uint8_t copy[16];
    memcpy(copy, in, 16);
    for (int i = 0; i < 16; i++)
        out[i] = copy[all->polyval ? 15 - i : i];
}

size_t point_stream_bytes(const struct points *all)
{
    return 48 + 16 * (size_t)all->top + all->max_len;
}

void point_draw(const struct points *all, struct point *p, uint64_t number)
{
    p->number = number;
    chacha20(all->seed, 0, number, p->stream, point_stream_bytes(all));
    p->x = p->stream;
    p->y = p->stream + 16;
    p->p = p->stream + 32;
    p->power = p->stream + 48;
    p->data = p->power + 16 * (size_t)all->top;
    memset(p->made, 0, sizeof p->made);
}

static void low_product(uint64_t a, uint64_t b, uint8_t out[16])
{
    uint64_t low = 0, high = 0;
    for (int i = 0; i < 64; i++) {
        uint64_t bit = 0 - (b >> i & 1);
        low ^= a << i & bit;
        high ^= (i ? a >> (64 - i) : 0) & bit;
    }
    for (int i = 0; i < 8; i++) {
        out[i] = (uint8_t)(low >> 8 * i);
        out[8 + i] = (uint8_t)(high >> 8 * i);
    }
}

static uint64_t load64_le(const uint8_t *p)
{
    return (uint64_t)load32_le(p) | (uint64_t)load32_le(p + 4) << 32;
}

/* The term of one power: the product of the halves of C1 and that of C2, reduced. */
static void add_key_term(const struct points *all, const uint8_t power[16], uint8_t sum[16])
{
    for (int i = 0; i < 2; i++) {
        uint8_t v[16];
        map_apply(&all->maps[i ? MAP_C2 : MAP_C1], power, v);
        low_product(load64_le(v), load64_le(v + 8), v);
        map_apply(&all->maps[i ? MAP_R_HIGH : MAP_R_LOW], v, v);
        add(sum, v);
    }
}

void point_table(const struct points *all, const struct point *p, const struct cell *cells,
                 size_t count, uint8_t *table, size_t bytes)
{
    /* The sum of all terms up to a power, so that R_1, R_2, ... cost one term each. */
    static uint8_t sums[POWERS_MAX + 1][16];
    uint32_t summed = 0;
    int whole = 16 * count == bytes;
    for (size_t c = 0; whole && c < count; c++)
        whole = cells[c].kind != CELL_FREE;
    if (!whole)
        chacha20(all->seed, 1, p->number, table, bytes);
    for (size_t c = 0; c < count; c++) {
        uint8_t *to = table + 16 * c;
        const struct cell *cell = &cells[c];
        if (cell->kind >= CELL_LINEAR) {
            map_apply(&all->maps[MAP_LINEAR + cell->kind - CELL_LINEAR],
                      p->power + 16 * (cell->power - 1), to);
        } else if (cell->kind == CELL_ZERO) {
            memset(to, 0, 16);
        } else if (cell->kind == CELL_R && cell->step == 1) {
            for (; summed < cell->power; summed++) {
                memcpy(sums[summed + 1], sums[summed], 16);
                add_key_term(all, p->power + 16 * summed, sums[summed + 1]);
            }
            memcpy(to, sums[cell->power], 16);
        } else if (cell->kind == CELL_R) {
            memset(to, 0, 16);
            for (int64_t i = cell->power; i > 0; i -= cell->step)
                add_key_term(all, p->power + 16 * (i - 1), to);
        }
    }
}

/* x = x*H_i */
static void times(struct point *p, uint8_t x[16], uint32_t i)
{
    if (!p->made[i - 1]) {
        ref_ctmul64_init(p->multiples[i - 1], p->power + 16 * (i - 1));
        p->made[i - 1] = 1;
    }
    ref_ctmul64_mul(p->multiples[i - 1], x);
}

/* sum = sum + (x + C_j)*H_i for block j of the message, of which `size` bytes count. */
static void absorb(const struct points *all, struct point *p, uint32_t j, uint32_t size,
                   const uint8_t *x, uint32_t i, uint8_t sum[16])
{
    uint8_t block[16] = {0};
    memcpy(block, p->data + 16 * (size_t)j, size);
    turn(all, block, block);
    if (x)
        add(block, x);
    times(p, block, i);
    add(sum, block);
}

/* x after a group of `count` blocks from block j on, the last of `size` bytes. */
static void absorb_group(const struct points *all, struct point *p, uint32_t j, uint32_t count,
                         uint32_t size, uint8_t x[16])
{
    uint8_t sum[16] = {0};
    for (uint32_t i = 0; i < count; i++)
        absorb(all, p, j + i, i + 1 < count ? 16 : size, i ? NULL : x, count - i, sum);
    memcpy(x, sum, 16);
}

#define LANES_MAX 8

/* A message's walk: the state after whole groups, and the lanes before the last of these. */
struct walk {
    uint32_t groups;
    uint8_t x[16];
    uint8_t lane[LANES_MAX][16];
};

/* The lanes of all groups but the last: lane l meets one power in every lane of a register. */
static void absorb_lanes(const struct points *all, struct point *p, uint32_t j, struct walk *w)
{
    const uint32_t n = all->structure.blocks, lanes = all->structure.lanes;
    for (uint32_t l = 0; l < lanes; l++) {
        uint8_t sum[16] = {0};
        for (uint32_t i = l; i < n; i += lanes)
            absorb(all, p, j + i, 16, i == l ? w->lane[l] : NULL, n - (i - l), sum);
        memcpy(w->lane[l], sum, 16);
    }
}

/* Advances to this many whole groups, at least as many as before. */
static void walk_to(const struct points *all, struct point *p, struct walk *w, uint32_t groups)
{
    const uint32_t n = all->structure.blocks, lanes = all->structure.lanes;
    for (; w->groups < groups; w->groups++) {
        if (lanes == 1) {
            absorb_group(all, p, w->groups * n, n, 16, w->x);
            continue;
        }
        if (w->groups > 0)
            absorb_lanes(all, p, (w->groups - 1) * n, w);
        memset(w->x, 0, 16);
        for (uint32_t i = 0; i < n; i++)
            absorb(all, p, w->groups * n + i, 16, i < lanes ? w->lane[i] : NULL, n - i, w->x);
    }
}

static void in_pieces(const struct points *all, struct point *p, uint32_t j, uint32_t bytes,
                      uint8_t x[16])
{
    for (uint32_t i = 0; i < all->structure.rests; i++) {
        const uint32_t size = all->structure.rest[i];
        for (; bytes >= 16 * size; bytes -= 16 * size, j += size)
            absorb_group(all, p, j, size, 16, x);
    }
    if (bytes)
        absorb_group(all, p, j, 1, bytes, x);
}

void expected_states(const struct points *all, struct point *p, const uint32_t *lengths,
                     size_t count, uint8_t *out)
{
    const uint32_t group = 16 * all->structure.blocks;
    struct walk w = {0};
    uint8_t whole[16] = {0}; /* the sum over the blocks of the rest but the last */
    uint32_t summed = UINT32_MAX;
    turn(all, p->x, w.x);
    memcpy(w.lane[0], w.x, 16);
    for (size_t k = 0; k < count; k++, out += 16) {
        const uint32_t groups = lengths[k] / group, rest = lengths[k] - groups * group;
        const uint32_t m = (rest + 15) / 16, j = groups * all->structure.blocks;
        walk_to(all, p, &w, groups);
        memcpy(out, w.x, 16);
        if (all->structure.rests) {
            in_pieces(all, p, j, rest, out);
        } else if (m) {
            if (summed != j + m) {
                summed = j + m;
                memset(whole, 0, 16);
                for (uint32_t i = 0; i + 1 < m; i++)
                    absorb(all, p, j + i, 16, i ? NULL : w.x, m - i, whole);
            }
            memcpy(out, whole, 16);
            absorb(all, p, j + m - 1, rest - 16 * (m - 1), m == 1 ? w.x : NULL, 1, out);
        }
        turn(all, out, out);
    }
}

void expected_product(const struct points *all, struct point *p, uint8_t out[16])
{
    turn(all, p->x, out);
    times(p, out, 1);
    turn(all, out, out);
}

/* Times x, in the order of SP 800-38D. */
static void times_x(uint8_t b[16])
{
    unsigned carry = b[15] & 1;
    for (int i = 15; i > 0; i--)
        b[i] = (uint8_t)(b[i] >> 1 | b[i - 1] << 7);
    b[0] = (uint8_t)(b[0] >> 1 ^ (carry ? 0xE1 : 0));
}

void expected_combined(const struct points *all, const struct point *p, uint8_t out[16])
{
    uint8_t factor[16];
    turn(all, p->p, factor);
    if (all->polyval) /* the factor has the form of a subkey: RFC 8452, appendix A, mulX_GHASH */
        times_x(factor);
    turn(all, p->x, out);
    uint64_t table[6];
    ref_ctmul64_init(table, factor);
    ref_ctmul64_mul(table, out);
    turn(all, out, out);
    add(out, p->y);
}
