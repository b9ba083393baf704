/*
 * How programs call OpenSSL's AES-GCM: EVP, the library choosing the code. The key is set once, each
 * message sets an IV and makes a tag. Functions are called by pointers, so that the installed library
 * and others given as files go one way.
 */
#ifndef GHASHGEN_BENCH_WAY_EVP_H
#define GHASHGEN_BENCH_WAY_EVP_H

#include "gcm_loops.h"

/* The functions, in the order of the way's symbols (ghashgen/lab/bench/objects.py). */
enum {
    EVP_CIPHER_OF,
    EVP_CONTEXT,
    EVP_BEGIN_SEALING,
    EVP_SEAL_MORE,
    EVP_SEAL_END,
    EVP_BEGIN_OPENING,
    EVP_OPEN_MORE,
    EVP_OPEN_END,
    EVP_CONTROL
};

#define EVP_GET_TAG 0x10 /* EVP_CTRL_AEAD_GET_TAG */
#define EVP_SET_TAG 0x11 /* EVP_CTRL_AEAD_SET_TAG */

typedef const void *evp_cipher_of(void);
typedef void *evp_context_new(void);
typedef int evp_begin(void *context, const void *cipher, void *engine, const uint8_t *key,
                      const uint8_t *iv);
typedef int evp_more(void *context, uint8_t *out, int *done, const uint8_t *in, int len);
typedef int evp_end(void *context, uint8_t *out, int *done);
typedef int evp_control(void *context, int what, int number, void *data);

struct evp_context {
    void *sealing, *opening;
};

#define EVP_CALL(s, type, place) ((type *)(s)->calls[place])

/* Sets the key of a context that knows its cipher. */
static inline void evp_set_key(const struct bench_subject *s, void *table, const uint8_t *key)
{
    EVP_CALL(s, evp_begin, EVP_BEGIN_SEALING)
    (((struct evp_context *)table)->sealing, NULL, NULL, key, NULL);
}

static inline void evp_contexts(const struct bench_subject *s, void *table, const uint8_t *key)
{
    struct evp_context *c = table;
    if (!c->sealing) {
        const void *cipher = EVP_CALL(s, evp_cipher_of, EVP_CIPHER_OF)();
        c->sealing = EVP_CALL(s, evp_context_new, EVP_CONTEXT)();
        c->opening = EVP_CALL(s, evp_context_new, EVP_CONTEXT)();
        EVP_CALL(s, evp_begin, EVP_BEGIN_SEALING)(c->sealing, cipher, NULL, NULL, NULL);
        EVP_CALL(s, evp_begin, EVP_BEGIN_OPENING)(c->opening, cipher, NULL, NULL, NULL);
    }
    evp_set_key(s, table, key);
    EVP_CALL(s, evp_begin, EVP_BEGIN_OPENING)(c->opening, NULL, NULL, key, NULL);
}

static inline void evp_seal(const struct bench_subject *s, const void *table, const uint8_t *iv,
                            const uint8_t *in, size_t len, const uint8_t *aad, size_t aad_len,
                            uint8_t *out, uint8_t *tag)
{
    void *c = ((const struct evp_context *)table)->sealing;
    int done;
    EVP_CALL(s, evp_begin, EVP_BEGIN_SEALING)(c, NULL, NULL, NULL, iv);
    EVP_CALL(s, evp_more, EVP_SEAL_MORE)(c, NULL, &done, aad, (int)aad_len);
    EVP_CALL(s, evp_more, EVP_SEAL_MORE)(c, out, &done, in, (int)len);
    EVP_CALL(s, evp_end, EVP_SEAL_END)(c, out + done, &done);
    EVP_CALL(s, evp_control, EVP_CONTROL)(c, EVP_GET_TAG, 16, tag);
}

static inline int evp_open(const struct bench_subject *s, const void *table, const uint8_t *iv,
                           const uint8_t *in, size_t len, const uint8_t *aad, size_t aad_len,
                           uint8_t *out, const uint8_t *tag)
{
    void *c = ((const struct evp_context *)table)->opening;
    int done;
    EVP_CALL(s, evp_begin, EVP_BEGIN_OPENING)(c, NULL, NULL, NULL, iv);
    EVP_CALL(s, evp_control, EVP_CONTROL)(c, EVP_SET_TAG, 16, (void *)(uintptr_t)tag);
    EVP_CALL(s, evp_more, EVP_OPEN_MORE)(c, NULL, &done, aad, (int)aad_len);
    EVP_CALL(s, evp_more, EVP_OPEN_MORE)(c, out, &done, in, (int)len);
    return EVP_CALL(s, evp_end, EVP_OPEN_END)(c, out + done, &done) == 1;
}

static inline void evp_seal_pieces(const struct bench_subject *s, const struct bench_work *w,
                                   const uint8_t *iv, uint8_t *tag)
{
    void *c = ((const struct evp_context *)w->table)->sealing;
    int done;
    EVP_CALL(s, evp_begin, EVP_BEGIN_SEALING)(c, NULL, NULL, NULL, iv);
    EVP_CALL(s, evp_more, EVP_SEAL_MORE)(c, NULL, &done, w->aad, (int)w->aad_len);
    for (size_t at = 0; at < w->len; at += w->piece)
        EVP_CALL(s, evp_more, EVP_SEAL_MORE)
    (c, w->out + at, &done, w->in + at, (int)bench_piece(w, at));
    EVP_CALL(s, evp_end, EVP_SEAL_END)(c, w->out + w->len, &done);
    EVP_CALL(s, evp_control, EVP_CONTROL)(c, EVP_GET_TAG, 16, tag);
}

static inline int evp_open_pieces(const struct bench_subject *s, const struct bench_work *w,
                                  const uint8_t *iv, const uint8_t *tag)
{
    void *c = ((const struct evp_context *)w->table)->opening;
    int done;
    EVP_CALL(s, evp_begin, EVP_BEGIN_OPENING)(c, NULL, NULL, NULL, iv);
    EVP_CALL(s, evp_control, EVP_CONTROL)(c, EVP_SET_TAG, 16, (void *)(uintptr_t)tag);
    EVP_CALL(s, evp_more, EVP_OPEN_MORE)(c, NULL, &done, w->aad, (int)w->aad_len);
    for (size_t at = 0; at < w->len; at += w->piece)
        EVP_CALL(s, evp_more, EVP_OPEN_MORE)
    (c, w->out + at, &done, w->sealed + at, (int)bench_piece(w, at));
    return EVP_CALL(s, evp_end, EVP_OPEN_END)(c, w->out + w->len, &done) == 1;
}

#define EVP_SEALS(s, table, iv, in, len, aad, aad_len, out, tag)                                   \
    evp_seal(s, table, iv, in, len, aad, aad_len, out, tag)
#define EVP_OPENS(s, table, iv, in, len, aad, aad_len, out, tag)                                   \
    evp_open(s, table, iv, in, len, aad, aad_len, out, tag)

#endif
