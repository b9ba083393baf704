/*
 * How Intel's multi-buffer library calls its direct functions. A table of AES-GCM has what one
 * message needs, then the key's data.
 */
#ifndef GHASHGEN_BENCH_WAY_IPSECMB_H
#define GHASHGEN_BENCH_WAY_IPSECMB_H

#include "gcm_loops.h"

#define IPSECMB_KEY_AT 128

typedef void ipsecmb_init(const void *key, void *table);
typedef void ipsecmb_ghash(const void *table, const void *in, uint64_t len, void *x,
                           uint64_t tag_len);
typedef void ipsecmb_message(const void *table, void *context, uint8_t *out, const uint8_t *in,
                             uint64_t len, const uint8_t *iv, const uint8_t *aad, uint64_t aad_len,
                             uint8_t *tag, uint64_t tag_len);

typedef void ipsecmb_start(const void *table, void *context, const uint8_t *iv, const uint8_t *aad,
                           uint64_t aad_len);
typedef void ipsecmb_more(const void *table, void *context, uint8_t *out, const uint8_t *in,
                          uint64_t len);
typedef void ipsecmb_end(const void *table, void *context, uint8_t *tag, uint64_t tag_len);

#define IPSECMB_INIT(s, table, h) ((ipsecmb_init *)(s)->init)((h), (table))
#define IPSECMB_GCM_INIT(s, table, key)                                                            \
    ((ipsecmb_init *)(s)->init)((key), (uint8_t *)(table) + IPSECMB_KEY_AT)
#define IPSECMB_UPDATE(s, table, x, in, len)                                                       \
    ((ipsecmb_ghash *)(s)->update)((table), (in), (len), (x), 16)

static inline void ipsecmb_run(kernel_entry entry, void *table, const uint8_t *iv,
                               const uint8_t *in, size_t len, const uint8_t *aad, size_t aad_len, uint8_t *out,
                               uint8_t *tag)
{
    const uint8_t *key = (const uint8_t *)table + IPSECMB_KEY_AT;
    ((ipsecmb_message *)entry)(key, table, out, in, len, iv, aad, aad_len, tag, 16);
}

/* It decrypts and computes the tag; its caller compares. */
static inline int ipsecmb_unseal(kernel_entry entry, void *table, const uint8_t *iv,
                                 const uint8_t *in, size_t len, const uint8_t *aad, size_t aad_len, uint8_t *out,
                                 const uint8_t *tag)
{
    uint8_t found[16];
    ipsecmb_run(entry, table, iv, in, len, aad, aad_len, out, found);
    return bench_same_tag(found, tag);
}

static inline void ipsecmb_pieces(const struct bench_subject *s, const struct bench_work *w,
                                  kernel_entry more, kernel_entry end, const uint8_t *iv,
                                  const uint8_t *in, uint8_t *tag)
{
    const uint8_t *key = (const uint8_t *)w->table + IPSECMB_KEY_AT;
    ((ipsecmb_start *)s->start)(key, w->table, iv, w->aad, w->aad_len);
    for (size_t at = 0; at < w->len; at += w->piece)
        ((ipsecmb_more *)more)(key, w->table, w->out + at, in + at, bench_piece(w, at));
    ((ipsecmb_end *)end)(key, w->table, tag, 16);
}

static inline void ipsecmb_seal_pieces(const struct bench_subject *s, const struct bench_work *w,
                                       const uint8_t *iv, uint8_t *tag)
{
    ipsecmb_pieces(s, w, s->seal_more, s->seal_end, iv, w->in, tag);
}

static inline int ipsecmb_open_pieces(const struct bench_subject *s, const struct bench_work *w,
                                      const uint8_t *iv, const uint8_t *tag)
{
    uint8_t found[16];
    ipsecmb_pieces(s, w, s->open_more, s->open_end, iv, w->sealed, found);
    return bench_same_tag(found, tag);
}

#define IPSECMB_SEAL(s, table, iv, in, len, aad, aad_len, out, tag)                                         \
    ipsecmb_run((s)->seal, (table), (iv), (in), (len), (aad), (aad_len), (out), (tag))
#define IPSECMB_OPEN(s, table, iv, in, len, aad, aad_len, out, tag)                                         \
    ipsecmb_unseal((s)->open, (table), (iv), (in), (len), (aad), (aad_len), (out), (tag))

#endif
