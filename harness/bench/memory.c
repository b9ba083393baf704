/*
 * The memory that subjects work on. Every table begins on its own page, and states lie elsewhere in
 * theirs, so that no subject's stores and loads share low address bits by chance. Each buffer has
 * three places (struct bench_buffer); the mode chooses.
 */
#include <stdlib.h>

#include "../guard.h"
#include "measure.h"

#define PAGE ((size_t)4096)
#define STATES_AT ((size_t)3072)
#define COUNTERS_AT (STATES_AT + 16 * BENCH_STATES)
#define AAD_AT (COUNTERS_AT + 16 * BENCH_STATES)
#define BOUNDARY_AT PAGE

static size_t whole_pages(size_t bytes)
{
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

static uint8_t *pages(size_t bytes)
{
    size_t size = whole_pages(bytes);
    uint8_t *at = aligned_alloc(PAGE, size);
    if (at)
        memset(at, 0, size);
    return at;
}

void random_fill(uint8_t *out, size_t size)
{
    static uint64_t s = UINT64_C(0x9E3779B97F4A7C15);
    for (size_t i = 0; i < size; i++) {
        s ^= s >> 12;
        s ^= s << 25;
        s ^= s >> 27;
        out[i] = (uint8_t)(s * UINT64_C(0x2545F4914F6CDD1D) >> 56);
    }
}

static size_t largest(const struct plan *plan)
{
    size_t size = 0;
    for (size_t i = 0; i < plan->size_count; i++)
        if (plan->sizes[i] > size)
            size = plan->sizes[i];
    for (size_t i = 0; i < plan->mode_count; i++)
        if (plan->modes[i]->bytes > (long)size)
            size = (size_t)plan->modes[i]->bytes;
    return size;
}

static size_t key_index(unsigned bits)
{
    return bits / 64 - 2;
}

/* A buffer whose middle place exists already; 0, or -1 without memory. */
static int buffer_open(struct bench_buffer *b, uint8_t *middle)
{
    struct guard guard;
    uint8_t *boundary = pages(BOUNDARY_AT + 2 * PAGE);
    if (!middle || !boundary || guard_open(&guard, "buffer", BENCH_PLACED_BYTES) != 0)
        return -1;
    *b = (struct bench_buffer){middle, guard.pages + guard.capacity, boundary + BOUNDARY_AT};
    return 0;
}

/* Seals the longest message with each size of key that a subject has; 0, or -1 without memory. */
static int seal(const struct plan *plan, struct bench_memory *m, size_t size)
{
    for (size_t i = 0; i < plan->subject_count; i++) {
        unsigned bits = plan->subjects[i]->key_bits;
        struct bench_sealed *sealed = &m->sealed[bits ? key_index(bits) : 0];
        if (!bits || sealed->text.middle)
            continue;
        uint8_t counter[16] = {[15] = 2};
        memcpy(counter, m->counters, 12);
        if (buffer_open(&sealed->text, pages(size)) != 0 ||
            !(sealed->packets = pages(PAGE * BENCH_BURST)) ||
            !(sealed->burst = calloc(BENCH_BURST, sizeof *sealed->burst)))
            return -1;
        aes_expand(&sealed->key, m->h, bits);
        gcm_counter_mode(&sealed->key, counter, m->in.middle, size, sealed->text.middle);
    }
    return 0;
}

struct bench_memory *memory_open(const struct plan *plan)
{
    struct bench_memory *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    size_t size = largest(plan) + plan->offset;
    uint8_t *in = pages(size);
    uint8_t *out = pages(size + PAGE / 2);
    uint8_t *states = pages(PAGE);
    m->tables = calloc(plan->subject_count + 1, sizeof *m->tables);
    if (!in || !out || !states || !m->tables ||
        buffer_open(&m->in, in + plan->offset) != 0 ||
        buffer_open(&m->out, out + PAGE / 2 + plan->offset) != 0 ||
        buffer_open(&m->aad, states + AAD_AT) != 0)
        return NULL;
    m->packets = pages(PAGE * BENCH_BURST);
    m->sent = pages(PAGE * BENCH_BURST);
    if (!m->packets || !m->sent)
        return NULL;
    random_fill(in, size);
    random_fill(m->h, sizeof m->h);
    m->states = states + STATES_AT;
    m->counters = states + COUNTERS_AT;
    random_fill(m->counters, 16 * BENCH_STATES);
    m->aad_len = plan->aad;
    random_fill(m->aad.middle, PLAN_MOST_AAD);
    random_fill(m->packets, PAGE * BENCH_BURST);
    for (size_t i = 0; i < plan->subject_count; i++)
        if (!(m->tables[i] = pages(3 * whole_pages(plan->subjects[i]->table_bytes))))
            return NULL;
    return seal(plan, m, largest(plan)) == 0 ? m : NULL;
}

/* Bytes of AAD in a mode. */
static size_t aad_bytes(const struct bench_memory *m, const struct bench_mode *mode)
{
    return mode->aad == BENCH_EMPTY || mode->aad == BENCH_NULL ? 0 : m->aad_len;
}

void memory_tags(struct bench_memory *m, const struct bench_mode *mode, size_t len)
{
    for (size_t i = 0; i < KEYS; i++) {
        struct bench_sealed *sealed = &m->sealed[i];
        if (sealed->text.middle)
            gcm_tag(&sealed->key, m->counters, m->aad.middle, aad_bytes(m, mode),
                    sealed->text.middle, len, sealed->tag);
    }
}

const struct aes_key *memory_key(const struct bench_memory *m, unsigned bits)
{
    return &m->sealed[key_index(bits)].key;
}

const struct bench_mode memory_middle;

/* Read at run time, so that the compiler cannot drop the dependency that it makes. */
static volatile const uint64_t nought;

static uint8_t *place(const struct bench_memory *m, const struct bench_buffer *b,
                      enum bench_where where, size_t len)
{
    switch (where) {
    case BENCH_EDGE:
        return b->edge - len;
    case BENCH_EDGE_MAPPED:
        return b->boundary - len;
    case BENCH_CROSSING:
        return b->boundary - BENCH_BEFORE_CROSSING;
    case BENCH_IN_STEP:
        return b->boundary + (uintptr_t)m->in.middle % PAGE;
    case BENCH_NULL:
        return NULL;
    default:
        return b->middle;
    }
}

/* The place of a buffer, with the content of its middle copied there. */
static const uint8_t *input(const struct bench_memory *m, const struct bench_buffer *b,
                            enum bench_where where, size_t len)
{
    uint8_t *at = place(m, b, where, len);
    if (at && at != b->middle)
        memcpy(at, b->middle, len);
    return at;
}

/* The second of a table's two places has a page boundary in its middle, at a multiple of 64 bytes; a
 * table of less than 128 bytes begins there. */
static void *table_of(const struct bench_memory *m, const struct plan *plan, size_t subject,
                      const struct bench_mode *mode)
{
    size_t bytes = plan->subjects[subject]->table_bytes;
    return m->tables[subject] +
           (mode->key_crosses ? 2 * whole_pages(bytes) - bytes / 128 * 64 : 0);
}

struct bench_work memory_work(const struct bench_memory *m, const struct plan *plan, size_t subject,
                              const struct bench_mode *mode, size_t len)
{
    unsigned bits = plan->subjects[subject]->key_bits;
    const struct bench_sealed *sealed = bits ? &m->sealed[key_index(bits)] : NULL;
    size_t aad_len = aad_bytes(m, mode);
    return (struct bench_work){
        .table = table_of(m, plan, subject, mode),
        .states = m->states,
        .h = m->h,
        .in = input(m, &m->in, mode->in, len),
        .len = len,
        .reps = 1,
        .zero = nought,
        .counters = m->counters,
        .aad = input(m, &m->aad, mode->aad, aad_len),
        .aad_len = aad_len,
        .out = place(m, &m->out, mode->out, len),
        .sealed = sealed ? input(m, &sealed->text, mode->in, len) : NULL,
        .tag = sealed ? sealed->tag : NULL,
        .piece = mode->piece,
        .burst = sealed && bench_bursts(mode) ? sealed->burst : NULL,
        .wanted = sealed && mode->kind == BENCH_SEAL_BURST ? sealed->packets : m->packets,
    };
}
