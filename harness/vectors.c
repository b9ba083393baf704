/*
 * `run`, `mul`, `segments` and `power`: vectors from standard input, final states to standard
 * output. Format, all little-endian: "GHV1", u32 count, then a vector: h[16], x[16], u32 n,
 * u64 len[n], the n chunks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "fault.h"
#include "ghash.h"
#include "guard.h"
#include "input.h"

enum what { RUN, MUL, SEGMENTS, POWER };

struct call {
    const struct ghashgen_kernel *k;
    struct ghash f;
    uint8_t *table, *x;
    const uint8_t *h, *in;
    size_t len;
    uint8_t *y, *p; /* segments: a segment's hash, and the power of its blocks */
    uint64_t m;
};

static void call_init(void *argument)
{
    struct call *c = argument;
    kernel_call(c->k, c->f.init, ARGUMENTS((uintptr_t)c->table, (uintptr_t)c->h));
}

static void call_mul(void *argument)
{
    struct call *c = argument;
    kernel_call(c->k, c->f.mul, ARGUMENTS((uintptr_t)c->table, (uintptr_t)c->x));
}

static void call_update(void *argument)
{
    struct call *c = argument;
    kernel_call(c->k, c->f.update,
                ARGUMENTS((uintptr_t)c->table, (uintptr_t)c->x, (uintptr_t)c->in, c->len));
}

static void call_power(void *argument)
{
    struct call *c = argument;
    kernel_call(c->k, c->f.power, ARGUMENTS((uintptr_t)c->table, (uintptr_t)c->p, c->m));
}

static void call_combine(void *argument)
{
    struct call *c = argument;
    kernel_call(c->k, c->f.combine, ARGUMENTS((uintptr_t)c->x, (uintptr_t)c->y, (uintptr_t)c->p));
}

/* Ten seconds of CPU time, and one more for each megabyte: ten times ref_bitwise's time. */
static int guarded(struct call *c, const struct buffers *b, const char *entry,
                   void (*function)(void *), size_t len, uint64_t vector)
{
    struct trap t;
    if (trap_call(function, c, 10 + (unsigned)(len >> 20), &t))
        return EXIT_OK;
    char what[256];
    fault_describe(&t, c->k, buffers_at(b, t.address), what, sizeof what);
    complain("%s, vector %llu, %s: %s", c->k->name, (unsigned long long)vector, entry, what);
    return EXIT_FAULT;
}

/* y = hash of the chunk from state 0, p = H^(its blocks), x = x*p + y. */
static int fold_segment(struct call *c, struct buffers *b, uint64_t vector)
{
    uint8_t x[16], y[16];
    memcpy(x, c->x, 16);
    c->x = memset(guard_place_end(&b->state, 16, 0), 0, 16);
    int code = guarded(c, b, "update", call_update, c->len, vector);
    if (code)
        return code;
    memcpy(y, c->x, 16);
    c->p = guard_place_end(&b->factor, 16, 0);
    c->m = c->len / 16 + (c->len % 16 != 0);
    code = guarded(c, b, "power", call_power, 0, vector);
    if (code)
        return code;
    guard_read_only(&b->factor);
    c->y = memcpy(guard_place_end(&b->addend, 16, 0), y, 16);
    guard_read_only(&b->addend);
    c->x = memcpy(guard_place_end(&b->state, 16, 0), x, 16);
    return guarded(c, b, "combine", call_combine, 0, vector);
}

static int begin_vector(struct call *c, struct buffers *b, uint64_t vector)
{
    uint8_t start[32];
    int code = read_exactly(start, sizeof start);
    if (code)
        return code;
    c->h = memcpy(guard_place_end(&b->key, 16, 0), start, 16);
    guard_read_only(&b->key);
    c->table = place_table(b, c->k, TABLE_AT_END);
    code = guarded(c, b, "init", call_init, 0, vector);
    guard_read_only(&b->table);
    c->x = memcpy(guard_place_end(&b->state, 16, 0), start + 16, 16);
    return code;
}

static int run_chunk(struct call *c, struct buffers *b, enum what what, uint64_t len,
                     uint64_t vector)
{
    if (len > b->input.capacity) {
        guard_close(&b->input);
        if (guard_open(&b->input, "in", len) != 0) {
            complain("vector %llu: no memory for a chunk of %llu bytes",
                     (unsigned long long)vector, (unsigned long long)len);
            return EXIT_USAGE;
        }
    }
    uint8_t *in = guard_place_end(&b->input, len, 0);
    int code = read_exactly(in, len);
    if (code)
        return code;
    guard_read_only(&b->input);
    c->in = in;
    c->len = len;
    if (what == SEGMENTS)
        return fold_segment(c, b, vector);
    return guarded(c, b, "update", call_update, len, vector);
}

static int run_chunks(struct call *c, struct buffers *b, enum what what, uint64_t count,
                      uint64_t vector)
{
    uint64_t *len = calloc(count ? count : 1, sizeof *len);
    if (!len) {
        complain("vector %llu: no memory for %llu chunks", (unsigned long long)vector,
                 (unsigned long long)count);
        return EXIT_USAGE;
    }
    int code = EXIT_OK;
    for (uint64_t i = 0; code == EXIT_OK && i < count; i++)
        code = read_little_endian(&len[i], 8);
    for (uint64_t i = 0; code == EXIT_OK && i < count; i++)
        code = run_chunk(c, b, what, len[i], vector);
    free(len);
    return code;
}

/* p = H^m, in place of the state. */
static int raise_power(struct call *c, struct buffers *b, uint64_t vector)
{
    c->m = 0;
    for (size_t i = 8; i > 0; i--)
        c->m = c->m << 8 | c->x[i - 1];
    c->p = guard_place_end(&b->factor, 16, 0);
    int code = guarded(c, b, "power", call_power, 0, vector);
    c->x = c->p;
    return code;
}

static int one_vector(struct call *c, struct buffers *b, enum what what, uint64_t vector)
{
    uint64_t chunks;
    int code = begin_vector(c, b, vector);
    if (code || (code = read_little_endian(&chunks, 4)) != EXIT_OK)
        return code;
    if ((what == MUL || what == POWER) && chunks) {
        complain("vector %llu: %s takes no chunks", (unsigned long long)vector,
                 what == MUL ? "mul" : "power");
        return EXIT_USAGE;
    }
    if (what == MUL)
        code = guarded(c, b, "mul", call_mul, 0, vector);
    else if (what == POWER)
        code = raise_power(c, b, vector);
    else
        code = run_chunks(c, b, what, chunks, vector);
    if (code == EXIT_OK && fwrite(c->x, 1, 16, stdout) != 16)
        code = EXIT_INTERNAL;
    return code;
}

static int all_vectors(const struct ghashgen_kernel *k, enum what what)
{
    struct call c = {.k = k, .f = ghash_of(k)};
    struct buffers b;
    if (!c.f.init || !c.f.mul || !c.f.update) {
        complain("%s has not init, mul and update", k->name);
        return EXIT_USAGE;
    }
    if ((what == SEGMENTS || what == POWER) && !(c.f.power && c.f.combine)) {
        complain("%s has no power and combine", k->name);
        return EXIT_USAGE;
    }
    if (buffers_open(&b, k, 0) != 0) {
        perror("ghashgen-harness");
        return EXIT_INTERNAL;
    }
    uint64_t count;
    int code = read_magic("GHV1");
    if (code || (code = read_little_endian(&count, 4)) != 0)
        return code;
    for (uint64_t i = 0; code == EXIT_OK && i < count; i++)
        code = one_vector(&c, &b, what, i);
    return code;
}

int command_run(const struct ghashgen_kernel *k)
{
    return all_vectors(k, RUN);
}

int command_mul(const struct ghashgen_kernel *k)
{
    return all_vectors(k, MUL);
}

int command_segments(const struct ghashgen_kernel *k)
{
    return all_vectors(k, SEGMENTS);
}

int command_power(const struct ghashgen_kernel *k)
{
    return all_vectors(k, POWER);
}
