/*
 * The measured loops of AES-GCM, instantiated once for each way to call, as those of loops.h.
 *
 * KEY(s, table, key)                                       expressions of INIT and its like
 * SEAL(s, table, iv, in, len, aad, aad_len, out, tag)      IV of 12 bytes
 * OPEN(s, table, iv, in, len, aad, aad_len, out, tag)             not 0 if the tag is right
 * TEXT(s, table, counter, x, in, len, out)                 encrypts and hashes, as a part of a message
 * SEAL_PIECES(s, w, iv, tag)                               of w's text, w->piece bytes a call
 * OPEN_PIECES(s, w, iv, tag)                               not 0 if the tag is right
 *
 * seal             independent messages, IVs in turn, the same text
 * open             the same message
 * seal-latency     the addresses of each message's IV, AAD and text depend on the tag before
 * open-latency     the addresses of each message's IV, AAD and text depend on the verdict before, and on
 *                  the end of the text
 * imix             seal, messages of the sizes of bench_imix in turn
 * seal-burst, …    the messages of a burst one after another; a kernel with functions for many messages has
 *                  loops of its own
 * text             TEXT alone, counter blocks and states in turn
 * pieces-N         independent messages of BENCH_PIECES_BYTES, as seal, in calls of N bytes of text
 * open-pieces-N    the same message, as open, likewise
 */
#ifndef GHASHGEN_BENCH_GCM_LOOPS_H
#define GHASHGEN_BENCH_GCM_LOOPS_H

#include "loops.h"

/* In constant time, as a library's user compares where it only computes the tag. */
static inline int bench_same_tag(const uint8_t a[16], const uint8_t b[16])
{
    uint64_t x[2], y[2];
    memcpy(x, a, 16);
    memcpy(y, b, 16);
    return ((x[0] ^ y[0]) | (x[1] ^ y[1])) == 0;
}

/* KEY is measured; ALL sets up what SEAL and OPEN need. */
#define BENCH_KEY_LOOPS(WAY, KEY, ALL)                                                             \
    static void WAY##_call_key(const struct bench_subject *s, void *table, const uint8_t *key)     \
    {                                                                                              \
        ALL(s, table, key);                                                                        \
    }                                                                                              \
    static void WAY##_loop_key(const struct bench_subject *s, const struct bench_work *w)          \
    {                                                                                              \
        for (size_t i = 0; i < w->reps; i++) {                                                     \
            KEY(s, w->table, w->h);                                                                \
            BENCH_WAIT();                                                                          \
        }                                                                                          \
    }                                                                                              \
    static void WAY##_loop_keys(const struct bench_subject *s, const struct bench_work *w)         \
    {                                                                                              \
        for (size_t i = 0; i < w->reps; i++)                                                       \
            KEY(s, w->table, w->h);                                                                \
    }                                                                                              \
    static void WAY##_fill_key(struct bench_subject *s)                                            \
    {                                                                                              \
        s->loops[BENCH_INIT] = WAY##_loop_key;                                                     \
        s->loops[BENCH_INIT_THROUGHPUT] = WAY##_loop_keys;                                         \
        s->call_init = WAY##_call_key;                                                             \
    }

#define BENCH_MESSAGE_LOOPS(WAY, SEAL, OPEN)                                                       \
    static void WAY##_call_seal(const struct bench_subject *s, const struct bench_work *w,         \
                                uint8_t tag[16])                                                   \
    {                                                                                              \
        (void)s;                                                                                   \
        SEAL(s, w->table, w->counters, w->in, w->len, w->aad, w->aad_len, w->out, tag);                        \
    }                                                                                              \
    static int WAY##_call_open(const struct bench_subject *s, const struct bench_work *w,          \
                               const uint8_t tag[16])                                              \
    {                                                                                              \
        (void)s;                                                                                   \
        return OPEN(s, w->table, w->counters, w->sealed, w->len, w->aad, w->aad_len, w->out, tag);             \
    }                                                                                              \
    static void WAY##_loop_seal(const struct bench_subject *s, const struct bench_work *w)         \
    {                                                                                              \
        (void)s;                                                                                   \
        for (size_t i = 0; i < w->reps; i++) {                                                     \
            size_t at = 16 * (i % BENCH_STATES);                                                   \
            SEAL(s, w->table, w->counters + at, w->in, w->len, w->aad, w->aad_len, w->out, w->states + at);    \
        }                                                                                          \
    }                                                                                              \
    static void WAY##_loop_open(const struct bench_subject *s, const struct bench_work *w)         \
    {                                                                                              \
        (void)s;                                                                                   \
        for (size_t i = 0; i < w->reps; i++)                                                       \
            (void)OPEN(s, w->table, w->counters, w->sealed, w->len, w->aad, w->aad_len, w->out, w->tag);       \
    }                                                                                              \
    static void WAY##_loop_seal_latency(const struct bench_subject *s, const struct bench_work *w) \
    {                                                                                              \
        (void)s;                                                                                   \
        for (size_t i = 0; i < w->reps; i++) {                                                     \
            uint64_t result;                                                                       \
            memcpy(&result, w->states, sizeof result);                                             \
            result &= w->zero;                                                                     \
            SEAL(s, w->table, w->counters + result, w->in + result, w->len, w->aad + result,       \
                 w->aad_len, w->out, w->states);                                                               \
        }                                                                                          \
    }                                                                                              \
    static void WAY##_loop_open_latency(const struct bench_subject *s, const struct bench_work *w) \
    {                                                                                              \
        (void)s;                                                                                   \
        uint64_t result = 0;                                                                       \
        for (size_t i = 0; i < w->reps; i++) {                                                     \
            result = (uint64_t)OPEN(s, w->table, w->counters + result, w->sealed + result, w->len, \
                                    w->aad + result, w->aad_len, w->out, w->tag);                  \
            result = (result | w->out[w->len - 1]) & w->zero;                                      \
        }                                                                                          \
    }                                                                                              \
    static void WAY##_loop_imix(const struct bench_subject *s, const struct bench_work *w)         \
    {                                                                                              \
        (void)s;                                                                                   \
        for (size_t i = 0; i < w->reps; i++)                                                       \
            for (size_t j = 0; j < BENCH_IMIX_MESSAGES; j++)                                       \
                SEAL(s, w->table, w->counters + 16 * j, w->in, bench_imix[j], w->aad, w->aad_len, w->out,      \
                     w->states + 16 * j);                                                          \
    }                                                                                              \
    static void WAY##_loop_seal_burst(const struct bench_subject *s, const struct bench_work *w)   \
    {                                                                                              \
        (void)s;                                                                                   \
        for (size_t i = 0; i < w->reps; i++)                                                       \
            for (struct ghashgen_message *m = w->burst; m < w->burst + BENCH_BURST; m++)           \
                SEAL(s, w->table, m->iv, m->in, m->len, m->aad, m->aad_len, m->out, m->tag);       \
    }                                                                                              \
    static void WAY##_loop_open_burst(const struct bench_subject *s, const struct bench_work *w)   \
    {                                                                                              \
        (void)s;                                                                                   \
        for (size_t i = 0; i < w->reps; i++)                                                       \
            for (struct ghashgen_message *m = w->burst; m < w->burst + BENCH_BURST; m++)           \
                m->status = !OPEN(s, w->table, m->iv, m->in, m->len, m->aad, m->aad_len, m->out,   \
                                  m->tag);                                                         \
    }                                                                                              \
    static void WAY##_fill_messages(struct bench_subject *s)                                       \
    {                                                                                              \
        s->loops[BENCH_SEAL_BURST] = WAY##_loop_seal_burst;                                        \
        s->loops[BENCH_OPEN_BURST] = WAY##_loop_open_burst;                                        \
        s->loops[BENCH_SEAL] = WAY##_loop_seal;                                                    \
        s->loops[BENCH_OPEN] = WAY##_loop_open;                                                    \
        s->loops[BENCH_SEAL_LATENCY] = WAY##_loop_seal_latency;                                    \
        s->loops[BENCH_OPEN_LATENCY] = WAY##_loop_open_latency;                                    \
        s->loops[BENCH_IMIX] = WAY##_loop_imix;                                                    \
        s->call_seal = WAY##_call_seal;                                                            \
        s->call_open = WAY##_call_open;                                                            \
    }

#define BENCH_TEXT_LOOPS(WAY, TEXT)                                                                \
    static void WAY##_call_text(const struct bench_subject *s, const struct bench_work *w,         \
                                uint8_t counter[16], uint8_t x[16])                                \
    {                                                                                              \
        (void)s;                                                                                   \
        TEXT(s, w->table, counter, x, w->in, w->len, w->out);                                      \
    }                                                                                              \
    static void WAY##_loop_text(const struct bench_subject *s, const struct bench_work *w)         \
    {                                                                                              \
        (void)s;                                                                                   \
        for (size_t i = 0; i < w->reps; i++) {                                                     \
            size_t at = 16 * (i % BENCH_STATES);                                                   \
            TEXT(s, w->table, w->counters + at, w->states + at, w->in, w->len, w->out);            \
        }                                                                                          \
    }                                                                                              \
    static void WAY##_fill_text(struct bench_subject *s)                                           \
    {                                                                                              \
        s->loops[BENCH_TEXT] = WAY##_loop_text;                                                    \
        s->call_text = WAY##_call_text;                                                            \
    }

#define BENCH_PIECES_LOOPS(WAY, SEAL_PIECES, OPEN_PIECES)                                          \
    static void WAY##_call_seal_pieces(const struct bench_subject *s, const struct bench_work *w,  \
                                       uint8_t tag[16])                                            \
    {                                                                                              \
        SEAL_PIECES(s, w, w->counters, tag);                                                       \
    }                                                                                              \
    static int WAY##_call_open_pieces(const struct bench_subject *s, const struct bench_work *w,   \
                                      const uint8_t tag[16])                                       \
    {                                                                                              \
        return OPEN_PIECES(s, w, w->counters, tag);                                                \
    }                                                                                              \
    static void WAY##_loop_seal_pieces(const struct bench_subject *s, const struct bench_work *w)  \
    {                                                                                              \
        for (size_t i = 0; i < w->reps; i++) {                                                     \
            size_t at = 16 * (i % BENCH_STATES);                                                   \
            SEAL_PIECES(s, w, w->counters + at, w->states + at);                                   \
        }                                                                                          \
    }                                                                                              \
    static void WAY##_loop_open_pieces(const struct bench_subject *s, const struct bench_work *w)  \
    {                                                                                              \
        for (size_t i = 0; i < w->reps; i++)                                                       \
            (void)OPEN_PIECES(s, w, w->counters, w->tag);                                          \
    }                                                                                              \
    static void WAY##_fill_pieces(struct bench_subject *s)                                         \
    {                                                                                              \
        s->loops[BENCH_SEAL_PIECES] = WAY##_loop_seal_pieces;                                      \
        s->loops[BENCH_OPEN_PIECES] = WAY##_loop_open_pieces;                                      \
        s->call_seal_pieces = WAY##_call_seal_pieces;                                              \
        s->call_open_pieces = WAY##_call_open_pieces;                                              \
    }

/* The bytes of the piece of w's text that begins at a place. */
static inline size_t bench_piece(const struct bench_work *w, size_t at)
{
    return w->len - at < w->piece ? w->len - at : w->piece;
}

#endif
