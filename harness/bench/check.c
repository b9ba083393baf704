/* Every subject of GHASH must give the same state at each size before anything is measured. */
#include <stdio.h>

#include "../json.h"
#include "measure.h"

void check_event(const char *what, const struct bench_subject *s, size_t size)
{
    printf("{\"event\": ");
    json_string(what);
    printf(", \"name\": ");
    json_string(s->name);
    printf(", \"size\": %zu}\n", size);
    fflush(stdout); /* before a call that may not return */
}

/* A call of a mode on this message: in mode gcm three updates, else one. */
static void hash(const struct bench_subject *s, const void *table, const struct bench_memory *m,
                 uint8_t x[16], size_t size, int gcm)
{
    if (gcm)
        s->call_update(s, table, x, m->h, BENCH_AAD);
    s->call_update(s, table, x, m->in.middle, size);
    if (gcm)
        s->call_update(s, table, x, m->h, BENCH_LENGTHS);
}

static void judge(const struct bench_memory *m, const uint8_t before[16], uint8_t after[16],
                  size_t size, int gcm)
{
    const struct bench_subject *s = bench_judge();
    uint8_t table[64];
    memcpy(after, before, 16);
    s->call_init(s, table, m->h);
    hash(s, table, m, after, size, gcm);
}

/* The call of a mode with memory of its own. */
static int check_call(const struct plan *plan, const struct bench_memory *m, size_t subject,
                      const struct bench_mode *mode, size_t size)
{
    const struct bench_subject *s = plan->subjects[subject];
    const struct bench_work w = memory_work(m, plan, subject, mode, size);
    uint8_t before[16], wanted[16];
    random_fill(before, 16);
    judge(m, before, wanted, size, 0);
    memcpy(w.states, before, 16);
    check_event("checking", s, size);
    s->call_init(s, w.table, m->h);
    s->call_update(s, w.table, w.states, w.in, w.len);
    if (memcmp(w.states, wanted, 16) == 0)
        return 0;
    check_event("wrong", s, size);
    return -1;
}

static int check_mode(const struct plan *plan, const struct bench_memory *m,
                      const struct bench_mode *mode)
{
    size_t sizes[PLAN_SIZES], count = plan_sizes(plan, mode, sizes);
    for (size_t i = 0; i < plan->subject_count; i++)
        for (size_t j = 0; j < count && !plan->subjects[i]->key_bits; j++)
            if (check_call(plan, m, i, mode, sizes[j]) != 0)
                return -1;
    return 0;
}

int check_results(const struct plan *plan, struct bench_memory *m)
{
    uint8_t before[PLAN_SIZES][16], wanted[2][PLAN_SIZES][16];
    int ways = plan_has(plan, BENCH_GCM) ? 2 : 1;
    for (size_t j = 0; j < plan->size_count; j++) {
        random_fill(before[j], 16);
        for (int gcm = 0; gcm < ways; gcm++)
            judge(m, before[j], wanted[gcm][j], plan->sizes[j], gcm);
    }
    for (size_t i = 0; i < plan->subject_count; i++) {
        const struct bench_subject *s = plan->subjects[i];
        if (s->key_bits)
            continue;
        check_event("checking", s, 0);
        s->call_init(s, m->tables[i], m->h);
        for (size_t j = 0; j < plan->size_count; j++)
            for (int gcm = 0; gcm < ways; gcm++) {
                memcpy(m->states, before[j], 16);
                hash(s, m->tables[i], m, m->states, plan->sizes[j], gcm);
                if (memcmp(m->states, wanted[gcm][j], 16) != 0) {
                    check_event("wrong", s, plan->sizes[j]);
                    return -1;
                }
            }
    }
    for (size_t k = 0; k < plan->mode_count; k++)
        if (bench_is_placed(plan->modes[k]) && check_mode(plan, m, plan->modes[k]) != 0)
            return -1;
    return 0;
}
