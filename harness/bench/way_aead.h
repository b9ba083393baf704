/*
 * How programs call the AES-GCM of BoringSSL and AWS-LC: EVP_AEAD (include/openssl/aead.h), the key set
 * once. Seal and open are the forms with a separate tag, which the others call.
 */
#ifndef GHASHGEN_BENCH_WAY_AEAD_H
#define GHASHGEN_BENCH_WAY_AEAD_H

#include "gcm_loops.h"

/* The functions, in the order of the way's symbols (ghashgen/lab/bench/objects.py). */
enum { AEAD_CIPHER, AEAD_INIT, AEAD_SEAL, AEAD_OPEN };

typedef const void *aead_cipher(void);
typedef int aead_init(void *context, const void *cipher, const uint8_t *key, size_t key_len,
                      size_t tag_len, void *engine);
typedef int aead_seal(const void *context, uint8_t *out, uint8_t *tag, size_t *tag_len,
                      size_t most_tag_len, const uint8_t *iv, size_t iv_len, const uint8_t *in,
                      size_t len, const uint8_t *more, size_t more_len, const uint8_t *aad,
                      size_t aad_len);
typedef int aead_open(const void *context, uint8_t *out, const uint8_t *iv, size_t iv_len,
                      const uint8_t *in, size_t len, const uint8_t *tag, size_t tag_len,
                      const uint8_t *aad, size_t aad_len);

static inline void aead_set_key(const struct bench_subject *s, void *context, const uint8_t *key)
{
    const void *cipher = ((aead_cipher *)s->calls[AEAD_CIPHER])();
    ((aead_init *)s->calls[AEAD_INIT])(context, cipher, key, s->key_bits / 8, 16, NULL);
}

static inline void aead_seals(const struct bench_subject *s, const void *context,
                              const uint8_t *iv, const uint8_t *in, size_t len,
                              const uint8_t *aad, size_t aad_len, uint8_t *out, uint8_t *tag)
{
    size_t tag_len;
    ((aead_seal *)s->calls[AEAD_SEAL])(context, out, tag, &tag_len, 16, iv, 12, in, len, NULL, 0,
                                       aad, aad_len);
}

#define AEAD_SEALS(s, table, iv, in, len, aad, aad_len, out, tag)                                  \
    aead_seals((s), (table), (iv), (in), (len), (aad), (aad_len), (out), (tag))
#define AEAD_OPENS(s, table, iv, in, len, aad, aad_len, out, tag)                                  \
    ((aead_open *)(s)->calls[AEAD_OPEN])((table), (out), (iv), 12, (in), (len), (tag), 16, (aad),  \
                                         (aad_len))

#endif
