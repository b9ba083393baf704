/*
 * Every table begins on a page of its own and the states lie elsewhere in theirs, so that no
 * subject is the one whose stores and loads share the low bits of an address.
 */
#include <stdlib.h>

#include "measure.h"

#define PAGE ((size_t)4096)
#define STATES_AT ((size_t)3072)

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
    return size;
}

struct bench_memory *memory_open(const struct plan *plan)
{
    struct bench_memory *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    size_t size = largest(plan) + plan->offset;
    uint8_t *in = pages(size);
    uint8_t *states = pages(PAGE);
    m->tables = calloc(plan->subject_count + 1, sizeof *m->tables);
    if (!in || !states || !m->tables)
        return NULL;
    random_fill(in, size);
    random_fill(m->h, sizeof m->h);
    m->in = in + plan->offset;
    m->states = states + STATES_AT;
    for (size_t i = 0; i < plan->subject_count; i++)
        if (!(m->tables[i] = pages(plan->subjects[i]->table_bytes)))
            return NULL;
    return m;
}

/* Read at run time, so that the compiler cannot drop the dependency that it makes. */
static volatile const uint64_t nought;

struct bench_work memory_work(const struct bench_memory *m, size_t subject, size_t len)
{
    return (struct bench_work){
        .table = m->tables[subject],
        .states = m->states,
        .h = m->h,
        .in = m->in,
        .len = len,
        .reps = 1,
        .zero = nought,
    };
}
