/* Emitted AES-GCM kernels: whole messages and messages in pieces where they have the functions, and the
 * text alone. */
#include "gcm_subjects.h"

#include "gcm_loops.h"

/* Kernels of one key size ignore it. */
#define KEY(s, table, key) ((gcm_init *)(s)->init)((table), (key), (s)->key_bits / 8)
#define SEAL(s, table, iv, in, len, aad, aad_len, out, tag)                                                 \
    ((gcm_seal *)(s)->seal)((table), (iv), 12, (aad), (aad_len), (in), (len), (out), (tag))
#define OPEN(s, table, iv, in, len, aad, aad_len, out, tag)                                                 \
    (((gcm_open *)(s)->open)((table), (iv), 12, (aad), (aad_len), (in), (len), (out), (tag),       \
                             16) == 0)
#define TEXT(s, table, counter, x, in, len, out)                                                   \
    ((gcm_encrypt *)(s)->text)((table), (counter), (x), (in), (out), (len))

#define STATE 96

static inline void begin(const struct bench_subject *s, const struct bench_work *w,
                         uint8_t state[STATE], const uint8_t *iv)
{
    (void)((gcm_start *)s->start)(w->table, state, iv, 12);
    (void)((gcm_aad *)s->aad)(w->table, state, w->aad, w->aad_len);
}

static inline void seal_pieces(const struct bench_subject *s, const struct bench_work *w,
                               const uint8_t *iv, uint8_t *tag)
{
    uint8_t state[STATE];
    begin(s, w, state, iv);
    for (size_t at = 0; at < w->len; at += w->piece)
        (void)((gcm_more *)s->seal_more)(w->table, state, w->in + at, w->out + at,
                                         bench_piece(w, at));
    (void)((gcm_finish *)s->seal_end)(w->table, state, tag);
}

static inline int open_pieces(const struct bench_subject *s, const struct bench_work *w,
                              const uint8_t *iv, const uint8_t *tag)
{
    uint8_t state[STATE];
    begin(s, w, state, iv);
    for (size_t at = 0; at < w->len; at += w->piece)
        (void)((gcm_more *)s->open_more)(w->table, state, w->sealed + at, w->out + at,
                                         bench_piece(w, at));
    return ((gcm_verify *)s->open_end)(w->table, state, tag, 16) == 0;
}

static void loop_seal_many(const struct bench_subject *s, const struct bench_work *w)
{
    for (size_t i = 0; i < w->reps; i++)
        ((gcm_many *)s->seal_many)(w->table, w->burst, BENCH_BURST);
}

static void loop_open_many(const struct bench_subject *s, const struct bench_work *w)
{
    for (size_t i = 0; i < w->reps; i++)
        ((gcm_many *)s->open_many)(w->table, w->burst, BENCH_BURST);
}

BENCH_KEY_LOOPS(own, KEY, KEY)
BENCH_MESSAGE_LOOPS(own, SEAL, OPEN)
BENCH_TEXT_LOOPS(own, TEXT)
BENCH_PIECES_LOOPS(own, seal_pieces, open_pieces)

void gcm_fill(struct bench_subject *s)
{
    own_fill_key(s);
    if (s->seal && s->open)
        own_fill_messages(s);
    if (s->seal_many)
        s->loops[BENCH_SEAL_BURST] = loop_seal_many;
    if (s->open_many)
        s->loops[BENCH_OPEN_BURST] = loop_open_many;
    if (s->text)
        own_fill_text(s);
    if (s->start)
        own_fill_pieces(s);
}
