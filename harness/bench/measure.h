/* Checks and measures the subjects of a plan; JSON lines on standard output. */
#ifndef GHASHGEN_BENCH_MEASURE_H
#define GHASHGEN_BENCH_MEASURE_H

#include "plan.h"

/* Memory for every subject of a plan; NULL when there is not enough. */
struct bench_memory *memory_open(const struct plan *plan);

/* 0, or -1 after an event that names the first subject with a wrong result. */
int check_results(const struct plan *plan, struct bench_memory *memory);

/* 0, or -1 with errno set. */
int measure(const struct plan *plan, struct bench_memory *memory);

struct bench_memory {
    uint8_t *in;     /* at the plan's offset from a page boundary */
    uint8_t *states; /* BENCH_STATES of 16 bytes */
    uint8_t h[16];
    void **tables; /* one for each subject, each on pages of its own */
};

/* A plan's subject on this memory. */
struct bench_work memory_work(const struct bench_memory *memory, size_t subject, size_t len);

/* xorshift64*, seeded the same way every time. */
void random_fill(uint8_t *out, size_t size);

#endif
