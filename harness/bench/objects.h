/* Kernels of other libraries, given as object files and listed in a rendered table. */
#ifndef GHASHGEN_BENCH_OBJECTS_H
#define GHASHGEN_BENCH_OBJECTS_H

#include "bench.h"

enum bench_way {
    WAY_GHASHGEN, /* init(table, h), update(table, x, in, len): the interface of emitted kernels */
    WAY_OPENSSL,  /* way_openssl.h */
    WAY_IPSECMB,  /* init(h, table), update(table, in, len, x, 16): Intel's multi-buffer library */
    /* Of AES-GCM. */
    WAY_IPSECMB_GCM,  /* way_ipsecmb.h */
    WAY_BORINGSSL_GCM, /* way_boringssl.h */
    WAY_BORINGSSL_GCM_BLOCKS, /* the same, for whole blocks only */
    WAY_AEAD, /* way_aead.h */
    WAY_EVP   /* way_evp.h */
};

struct bench_object {
    const char *name;
    enum bench_way way;
    uint64_t needs; /* CPU_* bits */
    size_t table_bytes;
    unsigned key_bits; /* of AES; 0: GHASH */
    kernel_entry init, update, seal, open, text;
    kernel_entry start, seal_more, seal_end, open_more, open_end; /* NULL if it has none */
    const kernel_entry *calls; /* the functions of a way that lists its own, in its order */
};

/* Rendered by templates/bench_objects.c.j2; absent if no object was given. */
extern const struct bench_object bench_objects[] __attribute__((weak));
extern const size_t bench_object_count __attribute__((weak));

extern const struct bench_peers bench_given;

#endif
