/*
 * The measured loops, instantiated once for each way to call, so that no subject pays for an
 * adapter between its caller and itself.
 *
 * UPDATE(s, table, x, in, len) and INIT(s, table, h) are expressions.
 * throughput       independent calls: states in turn, the same data
 * latency          each call's state and the address of its data depend on the call before
 * init             a call begins when the results of the one before are there
 * init-throughput  back to back
 * gcm              independent messages, each three calls as AES-GCM makes them: AAD, message, lengths
 */
#ifndef GHASHGEN_BENCH_LOOPS_H
#define GHASHGEN_BENCH_LOOPS_H

#include "bench.h"

#if defined(__x86_64__)
#define BENCH_WAIT() __asm__ volatile("lfence" ::: "memory")
#else
#define BENCH_WAIT() __asm__ volatile("" ::: "memory")
#endif

#define BENCH_LOOPS(WAY, INIT, UPDATE)                                                             \
    static void WAY##_call_init(const struct bench_subject *s, void *table, const uint8_t *h)      \
    {                                                                                              \
        INIT(s, table, h);                                                                         \
    }                                                                                              \
    static void WAY##_call_update(const struct bench_subject *s, const void *table, uint8_t *x,    \
                                  const uint8_t *in, size_t len)                                   \
    {                                                                                              \
        UPDATE(s, table, x, in, len);                                                              \
    }                                                                                              \
    static void WAY##_loop_throughput(const struct bench_subject *s, const struct bench_work *w)   \
    {                                                                                              \
        for (size_t i = 0; i < w->reps; i++)                                                       \
            UPDATE(s, w->table, w->states + 16 * (i % BENCH_STATES), w->in, w->len);               \
    }                                                                                              \
    static void WAY##_loop_latency(const struct bench_subject *s, const struct bench_work *w)      \
    {                                                                                              \
        for (size_t i = 0; i < w->reps; i++) {                                                     \
            uint64_t result;                                                                       \
            memcpy(&result, w->states, sizeof result);                                             \
            UPDATE(s, w->table, w->states, w->in + (result & w->zero), w->len);                    \
        }                                                                                          \
    }                                                                                              \
    static void WAY##_loop_init(const struct bench_subject *s, const struct bench_work *w)         \
    {                                                                                              \
        for (size_t i = 0; i < w->reps; i++) {                                                     \
            INIT(s, w->table, w->h);                                                               \
            BENCH_WAIT();                                                                          \
        }                                                                                          \
    }                                                                                              \
    static void WAY##_loop_inits(const struct bench_subject *s, const struct bench_work *w)        \
    {                                                                                              \
        for (size_t i = 0; i < w->reps; i++)                                                       \
            INIT(s, w->table, w->h);                                                               \
    }                                                                                              \
    static void WAY##_loop_gcm(const struct bench_subject *s, const struct bench_work *w)          \
    {                                                                                              \
        for (size_t i = 0; i < w->reps; i++) {                                                     \
            uint8_t *x = w->states + 16 * (i % BENCH_STATES);                                      \
            UPDATE(s, w->table, x, w->h, BENCH_AAD);                                               \
            UPDATE(s, w->table, x, w->in, w->len);                                                 \
            UPDATE(s, w->table, x, w->h, BENCH_LENGTHS);                                           \
        }                                                                                          \
    }                                                                                              \
    static void WAY##_fill(struct bench_subject *s)                                                \
    {                                                                                              \
        s->loops[BENCH_THROUGHPUT] = WAY##_loop_throughput;                                        \
        s->loops[BENCH_LATENCY] = WAY##_loop_latency;                                              \
        s->loops[BENCH_INIT] = WAY##_loop_init;                                                    \
        s->loops[BENCH_INIT_THROUGHPUT] = WAY##_loop_inits;                                        \
        s->loops[BENCH_GCM] = WAY##_loop_gcm;                                                      \
        s->call_init = WAY##_call_init;                                                            \
        s->call_update = WAY##_call_update;                                                        \
    }

#endif
