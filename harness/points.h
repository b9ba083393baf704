/*
 * Random points for `sampled`: independent powers, a state, a message, and the right results of
 * the kernel's functions. Elements are blocks in the order of SP 800-38D throughout; POLYVAL's
 * state, blocks and operands are these with their bytes reversed.
 */
#ifndef GHASHGEN_POINTS_H
#define GHASHGEN_POINTS_H

#include <stddef.h>
#include <stdint.h>

/* A linear function of 16 bytes, as the sum of one entry for every byte. */
struct map {
    uint8_t at[16][256][16];
};

/* From the images of the 128 unit vectors; bit k of byte b is number 8*b + k. */
void map_init(struct map *m, const uint8_t images[128][16]);
void map_apply(const struct map *m, const uint8_t in[16], uint8_t out[16]);

/* Four maps for the key term, then one for each linear kind of cell, in the job's order. */
enum { MAP_C1, MAP_C2, MAP_R_LOW, MAP_R_HIGH, MAP_LINEAR, MAPS_MAX = 64 };
/* Kinds of cells; a linear one is CELL_LINEAR and its number among the linear maps. */
enum cell_kind { CELL_FREE, CELL_ZERO, CELL_R, CELL_LINEAR };

struct cell {
    uint32_t kind, power, step; /* step: of the sum of key terms R/step; 1 for R */
};

/* How a message is cut into groups of blocks, each one reduction. */
struct structure {
    uint32_t blocks; /* whole groups come first */
    uint32_t lanes;  /* Horner accumulators in all whole groups but the last; 1: none */
    uint32_t rests;  /* 0: the rest is one group */
    uint32_t rest[16]; /* else groups of these sizes, the largest first; a partial one last */
};

struct points {
    uint8_t seed[32];
    int polyval;
    struct structure structure;
    uint32_t top;     /* powers drawn: 1..top */
    uint32_t max_len; /* bytes of the longest message */
    uint32_t map_count;
    const struct map *maps;
};

#define POWERS_MAX 256

struct point {
    uint64_t number;
    uint8_t *stream;          /* x, y, p, the powers, the message */
    const uint8_t *x, *y, *p; /* as in memory */
    const uint8_t *power;     /* block of H_i at 16*(i - 1) */
    const uint8_t *data;
    uint64_t (*multiples)[6]; /* ref_ctmul64's table of H_i, made on demand */
    uint8_t made[POWERS_MAX];
};

size_t point_stream_bytes(const struct points *all);
/* Draws a point; its stream and multiples have been allocated. */
void point_draw(const struct points *all, struct point *p, uint64_t number);

/* table[0..bytes) of the point: the cells, and random bytes elsewhere. */
void point_table(const struct points *all, const struct point *p, const struct cell *cells,
                 size_t count, uint8_t *table, size_t bytes);

void expected_product(const struct points *all, struct point *p, uint8_t out[16]);
void expected_combined(const struct points *all, const struct point *p, uint8_t out[16]);
/* States after lengths[0..count) bytes, ascending; out is 16 bytes for each. */
void expected_states(const struct points *all, struct point *p, const uint32_t *lengths,
                     size_t count, uint8_t *out);

#endif
