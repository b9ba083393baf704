/* Every subject must give the same GHASH at each size before anything is measured. */
#include <stdio.h>

#include "../json.h"
#include "measure.h"

static void event(const char *what, const struct bench_subject *s, size_t size)
{
    printf("{\"event\": ");
    json_string(what);
    printf(", \"name\": ");
    json_string(s->name);
    printf(", \"size\": %zu}\n", size);
    fflush(stdout); /* before a call that may not return */
}

static void judge(const struct bench_memory *m, const uint8_t before[16], uint8_t after[16],
                  size_t size)
{
    const struct bench_subject *s = bench_judge();
    uint8_t table[64];
    memcpy(after, before, 16);
    s->call_init(s, table, m->h);
    s->call_update(s, table, after, m->in, size);
}

int check_results(const struct plan *plan, struct bench_memory *m)
{
    uint8_t before[PLAN_SIZES][16], wanted[PLAN_SIZES][16];
    for (size_t j = 0; j < plan->size_count; j++) {
        random_fill(before[j], 16);
        judge(m, before[j], wanted[j], plan->sizes[j]);
    }
    for (size_t i = 0; i < plan->subject_count; i++) {
        const struct bench_subject *s = plan->subjects[i];
        event("checking", s, 0);
        s->call_init(s, m->tables[i], m->h);
        for (size_t j = 0; j < plan->size_count; j++) {
            memcpy(m->states, before[j], 16);
            s->call_update(s, m->tables[i], m->states, m->in, plan->sizes[j]);
            if (memcmp(m->states, wanted[j], 16) != 0) {
                event("wrong", s, plan->sizes[j]);
                return -1;
            }
        }
    }
    return 0;
}
