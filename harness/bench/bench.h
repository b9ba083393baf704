/* What the benchmark measures: subjects (kernels and peers), and the loops that call them. */
#ifndef GHASHGEN_BENCH_H
#define GHASHGEN_BENCH_H

#include <stddef.h>
#include <stdint.h>

#include "../kernel.h"

/* What is called in a loop, and what it waits for; see loops.h, gcm_loops.h and ctr_loops.h. */
enum bench_kind {
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
    BENCH_SEAL_PIECES,
    BENCH_OPEN_PIECES,
    BENCH_CRYPT,
    BENCH_SEAL_BURST,
    BENCH_OPEN_BURST,
    BENCH_KINDS
};

/* Where a buffer lies. */
enum bench_where {
    BENCH_MIDDLE,      /* mapped memory before and behind it */
    BENCH_EDGE,        /* it ends where mapped memory ends */
    BENCH_EDGE_MAPPED, /* the same place in a page; the next page is mapped */
    BENCH_CROSSING,    /* it begins BENCH_BEFORE_CROSSING bytes before the end of a page */
    BENCH_IN_STEP,     /* its addresses are those of the middle input, modulo 4096 */
    BENCH_EMPTY,       /* no bytes, at a mapped address */
    BENCH_NULL         /* no bytes, and a null pointer */
};
#define BENCH_BEFORE_CROSSING 8

/* One mode: a kind of loop, and the memory that it works on. modes.c lists them. */
struct bench_mode {
    const char *name;
    enum bench_kind kind;
    long bytes;   /* of every message, 0 in key set-up; or BENCH_ANY: sizes are chosen */
    size_t most;  /* bytes of the longest message measured; 0: any */
    size_t piece; /* bytes of a piece if messages come in pieces; else 0 */
    enum bench_where in, out, aad;
    int key_crosses; /* the boundary of two pages lies in the middle of the table */
    int cold;        /* single calls, each after other code has filled the instruction caches */
};
#define BENCH_ANY (-1)
#define BENCH_MODES 64
extern const struct bench_mode bench_modes[];
extern const size_t bench_mode_count;

/* Whether messages are opened; then w->tag must be the tag of w->len bytes. */
static inline int bench_opens(const struct bench_mode *mode)
{
    return mode->kind == BENCH_OPEN || mode->kind == BENCH_OPEN_LATENCY ||
           mode->kind == BENCH_OPEN_PIECES;
}

/* Whether its messages come in bursts. */
static inline int bench_bursts(const struct bench_mode *mode)
{
    return mode->kind == BENCH_SEAL_BURST || mode->kind == BENCH_OPEN_BURST;
}

/* Whether its memory differs from that of the other modes of its kind. */
static inline int bench_is_placed(const struct bench_mode *mode)
{
    return mode->in || mode->out || mode->aad || mode->key_crosses;
}

/* Bytes of the longest message in a buffer that is not in the middle. */
#define BENCH_PLACED_BYTES 2048

/* Bytes of a message in pieces. */
#define BENCH_PIECES_BYTES 65536

/* Bytes of AAD before a message (for AES-GCM, unless the plan says otherwise), and of the lengths after
 * it. Mode gcm may take any bytes for them, and reads both from the key. */
#define BENCH_AAD 12
#define BENCH_LENGTHS 16

/* Messages of a burst. Cycles are those of one message, unless the lengths differ. */
#define BENCH_BURST 32

/* A message of a burst, as functions for many messages take it. */
struct ghashgen_message {
    const uint8_t *iv, *aad, *in;
    uint8_t *out, *tag;
    uint64_t len, aad_len, iv_len, tag_len, status;
};

/* States used in turn by independent calls: enough that one is free before its next turn. */
#define BENCH_STATES 16

/* Mode imix: the sizes of one pattern of messages, 64, 594 and 1518 bytes at 7 : 4 : 1. */
#define BENCH_IMIX_MESSAGES 12
#define BENCH_IMIX_BYTES 4342
#define BENCH_IMIX_BURST_BYTES 11710
extern const size_t bench_imix[BENCH_IMIX_MESSAGES];

/* The memory of one loop: made once, the same for all subjects but for the table. */
struct bench_work {
    void *table;
    uint8_t *states; /* BENCH_STATES of 16 bytes */
    const uint8_t *h, *in; /* h: the hash subkey, or the key of AES */
    size_t len, reps;
    uint64_t zero; /* 0, unknown to the compiler */

    /* AES-GCM. */
    uint8_t *counters;          /* BENCH_STATES of 16 bytes, each beginning with an IV of 12 */
    const uint8_t *aad;
    size_t aad_len;
    uint8_t *out;               /* as long as in */
    const uint8_t *sealed, *tag; /* of in, with the first IV */
    size_t piece;                /* of struct bench_mode */
    struct ghashgen_message *burst; /* BENCH_BURST of them; NULL in other modes */
    uint8_t *wanted;                /* the pages of its right output */
};

struct bench_subject;
typedef void bench_loop(const struct bench_subject *, const struct bench_work *);

struct bench_subject {
    const char *name, *kind; /* kind: "kernel", "portable" or "peer" */
    const char *family;      /* NULL: "gcm" with a key, else "hash" (bench_family) */
    uint64_t needs;          /* CPU_* bits */
    size_t table_bytes, table_align;
    unsigned key_bits; /* of AES in AES-GCM or AES-CTR; 0: GHASH */
    size_t place;      /* of its way's own */
    int whole_blocks;  /* its text must be a multiple of 16 bytes */
    kernel_entry init, update; /* called by the loops in the subject's own way */
    kernel_entry seal, open, text; /* likewise, of AES-GCM */
    kernel_entry crypt;            /* likewise, of AES-CTR */
    kernel_entry seal_many, open_many; /* of emitted kernels, if they have them */
    kernel_entry start, aad, seal_more, seal_end, open_more, open_end; /* a message in pieces */
    const kernel_entry *calls; /* for a way with other functions, listed in its header */
    bench_loop *loops[BENCH_KINDS]; /* NULL for kinds that it does not support */
    /* One call of each, for the check of results. */
    void (*call_init)(const struct bench_subject *, void *table, const uint8_t *h);
    void (*call_update)(const struct bench_subject *, const void *table, uint8_t *x,
                        const uint8_t *in, size_t len);
    /* AES-GCM: seal and open, or text, or all; open returns whether the tag is right. */
    void (*call_seal)(const struct bench_subject *, const struct bench_work *, uint8_t tag[16]);
    int (*call_open)(const struct bench_subject *, const struct bench_work *, const uint8_t tag[16]);
    void (*call_seal_pieces)(const struct bench_subject *, const struct bench_work *, uint8_t tag[16]);
    int (*call_open_pieces)(const struct bench_subject *, const struct bench_work *,
                            const uint8_t tag[16]);
    void (*call_text)(const struct bench_subject *, const struct bench_work *, uint8_t counter[16],
                      uint8_t x[16]);
    /* AES-CTR. */
    void (*call_crypt)(const struct bench_subject *, const struct bench_work *, uint8_t counter[16]);
};

/* The family whose kernels a subject is compared with. */
static inline const char *bench_family(const struct bench_subject *s)
{
    return s->family ? s->family : s->key_bits ? "gcm" : "hash";
}

/* Whether a subject takes messages of this size in this mode. */
static inline int bench_takes(const struct bench_subject *s, const struct bench_mode *mode,
                              size_t size)
{
    return s->loops[mode->kind] && !(mode->kind == BENCH_TEXT && s->whole_blocks && size % 16);
}

/* A library's subjects, filled in when open is called; open returns how many there are. */
struct bench_peers {
    size_t (*open)(struct bench_subject *subjects, size_t room);
};

/* Absent if the library was not found when the benchmark was built. */
extern const struct bench_peers bench_openssl __attribute__((weak));
extern const struct bench_peers bench_ipsecmb __attribute__((weak));
extern const struct bench_peers bench_ipsecmb_burst __attribute__((weak));
extern const struct bench_peers bench_openssl_evp __attribute__((weak));
extern const struct bench_peers bench_openssl_ctr __attribute__((weak));
extern const struct bench_peers bench_ipsecmb_ctr __attribute__((weak));
extern const struct bench_peers bench_openssl_stitched __attribute__((weak));

/* Every subject linked in; the table stays valid. */
const struct bench_subject *bench_subjects(size_t *count);
const struct bench_subject *bench_find(const char *name);

/* The portable kernel that defines the right result. */
const struct bench_subject *bench_judge(void);

#endif
