/* Emitted AES-GCM kernels: whole messages where they have seal and open, and the text alone. */
#include "gcm_subjects.h"

#include "gcm_loops.h"

#define KEY(s, table, key) ((gcm_init *)(s)->init)((table), (key))
#define SEAL(s, table, iv, in, len, aad, aad_len, out, tag)                                                 \
    ((gcm_seal *)(s)->seal)((table), (iv), 12, (aad), (aad_len), (in), (len), (out), (tag))
#define OPEN(s, table, iv, in, len, aad, aad_len, out, tag)                                                 \
    (((gcm_open *)(s)->open)((table), (iv), 12, (aad), (aad_len), (in), (len), (out), (tag),       \
                             16) == 0)
#define TEXT(s, table, counter, x, in, len, out)                                                   \
    ((gcm_encrypt *)(s)->text)((table), (counter), (x), (in), (out), (len))

BENCH_KEY_LOOPS(own, KEY, KEY)
BENCH_MESSAGE_LOOPS(own, SEAL, OPEN)
BENCH_TEXT_LOOPS(own, TEXT)

void gcm_fill(struct bench_subject *s)
{
    own_fill_key(s);
    if (s->seal && s->open)
        own_fill_messages(s);
    if (s->text)
        own_fill_text(s);
}
