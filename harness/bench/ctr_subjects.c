/* Emitted AES-CTR kernels. */
#include "ctr_subjects.h"

#include "ctr_loops.h"

typedef void ctr_init(void *, const uint8_t *);
typedef void ctr_crypt(const void *, uint8_t *, const uint8_t *, uint8_t *, size_t);

#define KEY(s, table, key) ((ctr_init *)(s)->init)((table), (key))
#define CRYPT(s, table, counter, in, len, out)                                                     \
    ((ctr_crypt *)(s)->crypt)((table), (counter), (in), (out), (len))

BENCH_KEY_LOOPS(own, KEY, KEY)
BENCH_CRYPT_LOOPS(own, CRYPT)

void ctr_fill(struct bench_subject *s)
{
    own_fill_key(s);
    own_fill_crypt(s);
}
