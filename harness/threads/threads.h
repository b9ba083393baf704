/*
 * What is measured in threads: subjects, ways to call them, and variants (a subject and a way).
 */
#ifndef GHASHGEN_THREADS_HARNESS_H
#define GHASHGEN_THREADS_HARNESS_H

#define GHASHGEN_POOL_INTERLEAVED
#include "ghashgen_threads.h"

#include "../kernel.h"

enum { MOST_VARIANTS = 64, THREADS = 64, TABLE = 8192, AAD_BYTES = 13 };

/* A message, and its AES-GCM results. */
struct message {
    const uint8_t *in;
    uint8_t *sealed, *out;
    size_t len;
    uint8_t tag[16];
};

/* A kernel with a table of its own. */
struct subject {
    const struct ghashgen_kernel *kernel;
    struct ghashgen_pool_key hash;    /* of a kernel that hashes */
    struct ghashgen_pool_gcm_key gcm; /* of one that seals and opens */
    size_t crossover;                 /* bytes that it does in CROSSOVER_NS */
    _Alignas(64) unsigned char table[TABLE];
    _Alignas(64) unsigned char columns[TABLE]; /* the table of a power of H */
};

enum outcome { HASH, POWER, SEALED, OPENED };

struct variant;

/* Sets x to the hash from state 0, to the power, or to the tag if that is the message's. */
typedef void way_call(const struct variant *, uint8_t x[16], const struct message *);

struct way {
    const char *name;
    way_call *call;
    enum outcome outcome;
    int pool;             /* whether it has one */
    unsigned spin_ns;     /* of it */
    const char *function; /* that a kernel must have for it */
};

struct variant {
    char name[200];
    const struct subject *subject;
    const struct way *way;
    struct ghashgen_pool *pool;
    unsigned threads;
};

extern const uint8_t threads_h[16]; /* AES-128 of zeros under the key of zeros, which texts have */
extern const uint8_t threads_iv[12], threads_aad[AAD_BYTES];

/* NULL if there is no such way. */
const struct way *way_find(const char *name);

/* Groups in half of a message, as a pool cuts it. */
size_t half(size_t len);

/* A subject of a kernel, made on first use; NULL if its key is not one of those here. */
struct subject *subject_of(const struct ghashgen_kernel *k);

/* Fills the table that columns are hashed with: of H to this power. */
void subject_columns(struct subject *s, unsigned count);

#endif
