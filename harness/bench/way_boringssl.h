/*
 * How BoringSSL calls its update functions of AES-GCM (crypto/fipsmodule/aes/gcm.cc.inc): the round keys
 * with their number less one at byte 240, a table of 256 bytes, a counter block that does not advance.
 * Round keys and H come from the judge, so its key set-up is not measured.
 */
#ifndef GHASHGEN_BENCH_WAY_BORINGSSL_H
#define GHASHGEN_BENCH_WAY_BORINGSSL_H

#include "gcm_judge.h"
#include "gcm_loops.h"
#include "way_openssl.h"

#define BORINGSSL_ROUNDS_AT 240
#define BORINGSSL_TABLE_AT 256

typedef void boringssl_text(const uint8_t *in, uint8_t *out, size_t len, const void *schedule,
                            const uint8_t counter[16], const void *table, uint8_t x[16]);

static inline void boringssl_key(const struct bench_subject *s, void *context, const uint8_t *key)
{
    struct aes_key expanded = {.rounds = 0};
    uint8_t h[16] = {0};
    aes_expand(&expanded, key, s->key_bits);
    aes_encrypt(&expanded, h, h);
    memcpy(context, expanded.round, sizeof expanded.round);
    uint32_t rounds = expanded.rounds - 1;
    memcpy((uint8_t *)context + BORINGSSL_ROUNDS_AT, &rounds, sizeof rounds);
    openssl_fill_table(s->init, (struct block *)((uint8_t *)context + BORINGSSL_TABLE_AT), h);
}

#define BORINGSSL_TEXT(s, context, counter, x, in, len, out)                                       \
    ((boringssl_text *)(s)->text)((in), (out), (len), (context), (counter),                        \
                                  (const uint8_t *)(context) + BORINGSSL_TABLE_AT, (x))

#endif
