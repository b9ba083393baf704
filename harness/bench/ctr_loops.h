/*
 * The measured loops of AES-CTR, instantiated once for each way to call, as those of loops.h.
 *
 * KEY(s, table, key)                                expressions of INIT and its like
 * CRYPT(s, table, counter, in, len, out)            may change the counter block
 *
 * crypt            independent texts, each from a counter block of its own in turn
 */
#ifndef GHASHGEN_BENCH_CTR_LOOPS_H
#define GHASHGEN_BENCH_CTR_LOOPS_H

#include "gcm_loops.h"

#define BENCH_CRYPT_LOOPS(WAY, CRYPT)                                                              \
    static void WAY##_call_crypt(const struct bench_subject *s, const struct bench_work *w,        \
                                 uint8_t counter[16])                                              \
    {                                                                                              \
        (void)s;                                                                                   \
        CRYPT(s, w->table, counter, w->in, w->len, w->out);                                        \
    }                                                                                              \
    static void WAY##_loop_crypt(const struct bench_subject *s, const struct bench_work *w)        \
    {                                                                                              \
        (void)s;                                                                                   \
        for (size_t i = 0; i < w->reps; i++)                                                       \
            CRYPT(s, w->table, w->states + 16 * (i % BENCH_STATES), w->in, w->len, w->out);        \
    }                                                                                              \
    static void WAY##_fill_crypt(struct bench_subject *s)                                          \
    {                                                                                              \
        s->family = "ctr";                                                                         \
        s->loops[BENCH_CRYPT] = WAY##_loop_crypt;                                                  \
        s->call_crypt = WAY##_call_crypt;                                                          \
    }

#endif
