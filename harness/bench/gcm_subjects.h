/* Subjects of AES-GCM that every benchmark has, as bench_subject values. */
#ifndef GHASHGEN_BENCH_GCM_SUBJECTS_H
#define GHASHGEN_BENCH_GCM_SUBJECTS_H

#include "bench.h"

/* The functions of emitted AES-GCM kernels. */
typedef void gcm_init(void *, const uint8_t *, size_t);
typedef int gcm_seal(const void *, const uint8_t *, size_t, const uint8_t *, size_t,
                     const uint8_t *, size_t, uint8_t *, uint8_t *);
typedef int gcm_open(const void *, const uint8_t *, size_t, const uint8_t *, size_t,
                     const uint8_t *, size_t, uint8_t *, const uint8_t *, size_t);
typedef int gcm_start(const void *, uint8_t *, const uint8_t *, size_t);
typedef int gcm_aad(const void *, uint8_t *, const uint8_t *, size_t);
typedef int gcm_more(const void *, uint8_t *, const uint8_t *, uint8_t *, size_t);
typedef int gcm_finish(const void *, uint8_t *, uint8_t *);
typedef int gcm_verify(const void *, uint8_t *, const uint8_t *, size_t);
typedef void gcm_many(const void *, struct ghashgen_message *, size_t);
typedef void gcm_encrypt(const void *, uint8_t *, uint8_t *, const uint8_t *, uint8_t *, size_t);

/* Portable C; how many were filled in. */
size_t gcm_portable_subjects(struct bench_subject *subjects, size_t room);

/* The loops of an emitted kernel, from the entries and the key that the subject has. */
void gcm_fill(struct bench_subject *subject);

#endif
