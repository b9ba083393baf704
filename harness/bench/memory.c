/*
 * The memory that subjects work on. Every table begins on a page of its own and the states lie elsewhere in theirs, so that no
 * subject is the one whose stores and loads share the low bits of an address.
 */
#include <stdlib.h>

#include "measure.h"

#define PAGE ((size_t)4096)
#define STATES_AT ((size_t)3072)
#define COUNTERS_AT (STATES_AT + 16 * BENCH_STATES)
#define AAD_AT (COUNTERS_AT + 16 * BENCH_STATES)

static uint8_t *pages(size_t bytes)
{
    size_t size = (bytes + PAGE - 1) / PAGE * PAGE;
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
    if (plan->modes[BENCH_IMIX] && size < BENCH_IMIX_LARGEST)
        size = BENCH_IMIX_LARGEST;
    for (int mode = 0; mode < BENCH_MODES; mode++)
        if (plan->modes[mode] && bench_mode_piece[mode] && size < BENCH_PIECES_BYTES)
            size = BENCH_PIECES_BYTES;
    return size;
}

static size_t key_index(unsigned bits)
{
    return bits / 64 - 2;
}

/* Seals the longest message with each size of key that a subject has; 0, or -1 without memory. */
static int seal(const struct plan *plan, struct bench_memory *m, size_t size)
{
    for (size_t i = 0; i < plan->subject_count; i++) {
        unsigned bits = plan->subjects[i]->key_bits;
        struct bench_sealed *sealed = &m->sealed[bits ? key_index(bits) : 0];
        if (!bits || sealed->text)
            continue;
        uint8_t counter[16] = {[15] = 2};
        memcpy(counter, m->counters, 12);
        if (!(sealed->text = pages(size)))
            return -1;
        aes_expand(&sealed->key, m->h, bits);
        gcm_counter_mode(&sealed->key, counter, m->in, size, sealed->text);
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
    if (!in || !out || !states || !m->tables)
        return NULL;
    random_fill(in, size);
    random_fill(m->h, sizeof m->h);
    m->in = in + plan->offset;
    m->out = out + PAGE / 2 + plan->offset;
    m->states = states + STATES_AT;
    m->counters = states + COUNTERS_AT;
    m->aad = states + AAD_AT;
    random_fill(m->counters, 16 * BENCH_STATES);
    m->aad_len = plan->aad;
    random_fill(m->aad, PLAN_MOST_AAD);
    for (size_t i = 0; i < plan->subject_count; i++)
        if (!(m->tables[i] = pages(plan->subjects[i]->table_bytes)))
            return NULL;
    return seal(plan, m, largest(plan)) == 0 ? m : NULL;
}

void memory_tags(struct bench_memory *m, size_t len)
{
    for (size_t i = 0; i < KEYS; i++) {
        struct bench_sealed *sealed = &m->sealed[i];
        if (sealed->text)
            gcm_tag(&sealed->key, m->counters, m->aad, m->aad_len, sealed->text, len,
                    sealed->tag);
    }
}

const struct aes_key *memory_key(const struct bench_memory *m, unsigned bits)
{
    return &m->sealed[key_index(bits)].key;
}

/* Read at run time, so that the compiler cannot drop the dependency that it makes. */
static volatile const uint64_t nought;

struct bench_work memory_work(const struct bench_memory *m, const struct plan *plan, size_t subject,
                              size_t len)
{
    unsigned bits = plan->subjects[subject]->key_bits;
    const struct bench_sealed *sealed = bits ? &m->sealed[key_index(bits)] : NULL;
    return (struct bench_work){
        .table = m->tables[subject],
        .states = m->states,
        .h = m->h,
        .in = m->in,
        .len = len,
        .reps = 1,
        .zero = nought,
        .counters = m->counters,
        .aad = m->aad,
        .aad_len = m->aad_len,
        .out = m->out,
        .sealed = sealed ? sealed->text : NULL,
        .tag = sealed ? sealed->tag : NULL,
    };
}
