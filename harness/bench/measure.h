/* Checks and measures the subjects of a plan; JSON lines on standard output. */
#ifndef GHASHGEN_BENCH_MEASURE_H
#define GHASHGEN_BENCH_MEASURE_H

#include "gcm_judge.h"
#include "plan.h"

/* Memory for every subject of a plan; NULL when there is not enough. */
struct bench_memory *memory_open(const struct plan *plan);

/* 0, or -1 after an event that names the first subject with a wrong result. */
int check_results(const struct plan *plan, struct bench_memory *memory);
int check_messages(const struct plan *plan, struct bench_memory *memory);

/* Announces a call that may not return, or reports what was found. */
void check_event(const char *what, const struct bench_subject *subject, size_t size);

/* 0, -1 with errno set, or 1 after an event that names a subject that does not open a message. */
int measure(const struct plan *plan, struct bench_memory *memory);

/* Sizes of AES keys: 128, 192, 256. */
#define KEYS 3

/* The places of one buffer. */
struct bench_buffer {
    uint8_t *middle;   /* as long as the longest message: of a shorter one, its beginning */
    uint8_t *edge;     /* the end of mapped memory, BENCH_PLACED_BYTES before it */
    uint8_t *boundary; /* of two pages, as many bytes on either side */
};

/* The message that one AES key seals. */
struct bench_sealed {
    struct aes_key key;
    struct bench_buffer text;
    uint8_t tag[16];
    uint8_t *packets; /* BENCH_BURST pages: the messages of a burst and their tags */
    struct ghashgen_message *burst; /* BENCH_BURST records of them */
};

struct bench_memory {
    struct bench_buffer in;  /* in the middle at the plan's offset from a page boundary */
    struct bench_buffer out; /* in the middle half a page from where it would be in step with in */
    struct bench_buffer aad;
    uint8_t *states; /* BENCH_STATES of 16 bytes */
    uint8_t *counters;
    uint8_t *packets, *sent; /* BENCH_BURST pages each: what is sealed, and where output goes */
    size_t aad_len;
    uint8_t h[32]; /* hash subkey, or key of AES */
    struct bench_sealed sealed[KEYS];
    uint8_t **tables; /* two places for each subject, on pages of its own */
};

/* A plan's subject in a mode, with the mode's buffers on this memory. */
struct bench_work memory_work(const struct bench_memory *memory, const struct plan *plan,
                              size_t subject, const struct bench_mode *mode, size_t len);

/* Sets the tags for messages of this length in this mode. */
void memory_tags(struct bench_memory *memory, const struct bench_mode *mode, size_t len);

/* Writes the messages of a mode with bursts, of this length unless the mode has lengths of its own. */
void bursts_write(struct bench_memory *memory, const struct bench_mode *mode, size_t len);

/* Whether a subject processes them as the judge does, also where one tag is wrong. */
int bursts_are_right(const struct bench_subject *subject, const struct bench_work *work,
                     const struct bench_mode *mode);

/* The default placement of modes: every buffer in the middle. */
extern const struct bench_mode memory_middle;

/* The round keys for a key of this many bits. */
const struct aes_key *memory_key(const struct bench_memory *memory, unsigned bits);

/* xorshift64*, seeded the same way every time. */
void random_fill(uint8_t *out, size_t size);

#endif
