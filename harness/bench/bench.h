/* What the benchmark measures: subjects (kernels and peers), and the loops that call them. */
#ifndef GHASHGEN_BENCH_H
#define GHASHGEN_BENCH_H

#include <stddef.h>
#include <stdint.h>

#include "../kernel.h"

enum bench_mode {
    BENCH_THROUGHPUT,
    BENCH_LATENCY,
    BENCH_INIT,
    BENCH_INIT_THROUGHPUT,
    BENCH_GCM,
    BENCH_MODES
};

extern const char *const bench_mode_names[BENCH_MODES];

/* Mode gcm: bytes of AAD before the message and of the lengths after it; what they are is no
 * matter, so both are read from the key. */
#define BENCH_AAD 12
#define BENCH_LENGTHS 16

/* States used in turn by independent calls: enough that one is free before its next turn. */
#define BENCH_STATES 16

/* The memory of one loop: made once, the same for all subjects but for the table. */
struct bench_work {
    void *table;
    uint8_t *states; /* BENCH_STATES of 16 bytes */
    const uint8_t *h, *in;
    size_t len, reps;
    uint64_t zero; /* 0, which the compiler must not know */
};

struct bench_subject;
typedef void bench_loop(const struct bench_subject *, const struct bench_work *);

struct bench_subject {
    const char *name, *kind; /* kind: "kernel", "portable" or "peer" */
    uint64_t needs;          /* CPU_* bits */
    size_t table_bytes, table_align;
    kernel_entry init, update; /* called by the loops in the subject's own way */
    bench_loop *loops[BENCH_MODES];
    /* One call of each, for the check of results. */
    void (*call_init)(const struct bench_subject *, void *table, const uint8_t *h);
    void (*call_update)(const struct bench_subject *, const void *table, uint8_t *x,
                        const uint8_t *in, size_t len);
};

/* A library's subjects, filled in when open is called; open returns how many there are. */
struct bench_peers {
    size_t (*open)(struct bench_subject *subjects, size_t room);
};

/* Absent where the library was not found when the benchmark was built. */
extern const struct bench_peers bench_openssl __attribute__((weak));
extern const struct bench_peers bench_ipsecmb __attribute__((weak));

/* Every subject linked in; the table stays valid. */
const struct bench_subject *bench_subjects(size_t *count);
const struct bench_subject *bench_find(const char *name);

/* The portable kernel that decides what the right result is. */
const struct bench_subject *bench_judge(void);

#endif
