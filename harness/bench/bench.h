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
    BENCH_SEAL,
    BENCH_OPEN,
    BENCH_SEAL_LATENCY,
    BENCH_OPEN_LATENCY,
    BENCH_IMIX,
    BENCH_TEXT,
    BENCH_PIECES_16,
    BENCH_PIECES_1K,
    BENCH_PIECES_16K,
    BENCH_OPEN_PIECES_1K,
    BENCH_MODES
};

extern const char *const bench_mode_names[BENCH_MODES];

/* Bytes of a message in a mode that has no choice of sizes, 0 in key set-up; BENCH_ANY: it has. */
#define BENCH_ANY (-1)
extern const long bench_mode_bytes[BENCH_MODES];

/* Bytes of a piece, in modes that take a message in pieces; else 0. */
extern const size_t bench_mode_piece[BENCH_MODES];

/* Whether messages are opened, for which w->tag has to be that of w->len bytes. */
extern const int bench_mode_opens[BENCH_MODES];

/* Bytes of that message. */
#define BENCH_PIECES_BYTES 65536

/* Bytes of AAD before a message (of AES-GCM, unless the plan says otherwise), and of the lengths after
 * it. In mode gcm it is no matter what they are, so both are read from the key. */
#define BENCH_AAD 12
#define BENCH_LENGTHS 16

/* States used in turn by independent calls: enough that one is free before its next turn. */
#define BENCH_STATES 16

/* Mode imix: the sizes of one pattern of messages, 64, 594 and 1518 bytes at 7 : 4 : 1. */
#define BENCH_IMIX_MESSAGES 12
#define BENCH_IMIX_LARGEST 1518
#define BENCH_IMIX_BYTES 4342
extern const size_t bench_imix[BENCH_IMIX_MESSAGES];

/* The memory of one loop: made once, the same for all subjects but for the table. */
struct bench_work {
    void *table;
    uint8_t *states; /* BENCH_STATES of 16 bytes */
    const uint8_t *h, *in; /* h: the hash subkey, or the key of AES */
    size_t len, reps;
    uint64_t zero; /* 0, which the compiler must not know */

    /* AES-GCM. */
    uint8_t *counters;          /* BENCH_STATES of 16 bytes, each beginning with an IV of 12 */
    const uint8_t *aad;
    size_t aad_len;
    uint8_t *out;               /* as long as in */
    const uint8_t *sealed, *tag; /* of in, with the first IV */
    size_t piece;                /* see bench_mode_piece */
};

struct bench_subject;
typedef void bench_loop(const struct bench_subject *, const struct bench_work *);

struct bench_subject {
    const char *name, *kind; /* kind: "kernel", "portable" or "peer" */
    uint64_t needs;          /* CPU_* bits */
    size_t table_bytes, table_align;
    unsigned key_bits; /* of AES in AES-GCM; 0: GHASH */
    int whole_blocks;  /* its text has a multiple of 16 bytes */
    kernel_entry init, update; /* called by the loops in the subject's own way */
    kernel_entry seal, open, text; /* likewise, of AES-GCM */
    kernel_entry start, aad, seal_more, seal_end, open_more, open_end; /* a message in pieces */
    const kernel_entry *calls; /* of a way that has other functions: its header says which */
    bench_loop *loops[BENCH_MODES]; /* NULL in modes that are not for it */
    /* One call of each, for the check of results. */
    void (*call_init)(const struct bench_subject *, void *table, const uint8_t *h);
    void (*call_update)(const struct bench_subject *, const void *table, uint8_t *x,
                        const uint8_t *in, size_t len);
    /* Of AES-GCM: seal and open, or text, or all; open says whether the tag is right. */
    void (*call_seal)(const struct bench_subject *, const struct bench_work *, uint8_t tag[16]);
    int (*call_open)(const struct bench_subject *, const struct bench_work *, const uint8_t tag[16]);
    void (*call_seal_pieces)(const struct bench_subject *, const struct bench_work *, uint8_t tag[16]);
    int (*call_open_pieces)(const struct bench_subject *, const struct bench_work *,
                            const uint8_t tag[16]);
    void (*call_text)(const struct bench_subject *, const struct bench_work *, uint8_t counter[16],
                      uint8_t x[16]);
};

/* Whether a subject takes messages of this size in this mode. */
static inline int bench_takes(const struct bench_subject *s, enum bench_mode mode, size_t size)
{
    return s->loops[mode] && !(mode == BENCH_TEXT && s->whole_blocks && size % 16);
}

/* A library's subjects, filled in when open is called; open returns how many there are. */
struct bench_peers {
    size_t (*open)(struct bench_subject *subjects, size_t room);
};

/* Absent where the library was not found when the benchmark was built. */
extern const struct bench_peers bench_openssl __attribute__((weak));
extern const struct bench_peers bench_ipsecmb __attribute__((weak));
extern const struct bench_peers bench_openssl_evp __attribute__((weak));
extern const struct bench_peers bench_openssl_stitched __attribute__((weak));

/* Every subject linked in; the table stays valid. */
const struct bench_subject *bench_subjects(size_t *count);
const struct bench_subject *bench_find(const char *name);

/* The portable kernel that decides what the right result is. */
const struct bench_subject *bench_judge(void);

#endif
