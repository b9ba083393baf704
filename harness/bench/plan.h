/* What to measure, as read from standard input. */
#ifndef GHASHGEN_BENCH_PLAN_H
#define GHASHGEN_BENCH_PLAN_H

#include <stdio.h>

#include "bench.h"

#define PLAN_SIZES 64
#define PLAN_SUBJECTS 2048
#define PLAN_LARGEST (UINT64_C(1) << 28)
#define PLAN_MOST_AAD 256

struct plan {
    const struct bench_subject *subjects[PLAN_SUBJECTS];
    size_t subject_count;
    size_t sizes[PLAN_SIZES];
    size_t size_count;
    const struct bench_mode *modes[BENCH_MODES];
    size_t mode_count;
    size_t samples;  /* wanted of each cell */
    double cycles;   /* that one sample should take, if one call takes less */
    double budget;   /* cycles after which a cell has enough, if it has a few samples */
    double nops;     /* minimum part of the idle core's rate for a sample; 0: keep all */
    double rate;     /* that rate, in nops per cycle; set once the core is known */
    double patience; /* seconds to wait for a quiet core, for each size; 0: never wait */
    size_t offset;   /* of the data from a page boundary */
    size_t aad;      /* bytes of AAD before a message of AES-GCM */
    int core;        /* -1: the last allowed */
};

/*
 * Lines of a word and a value: subject NAME, size BYTES, mode NAME, samples N, cycles N, budget N,
 * nops PART, patience SECONDS, offset BYTES, aad BYTES, core N. Returns 0, or -1 with the cause in text.
 */
int plan_read(FILE *stream, struct plan *plan, char *text, size_t text_size);

/* Whether a mode of this kind is in it. */
int plan_has(const struct plan *plan, enum bench_kind kind);

/* The sizes at which a mode is measured; returns how many there are. */
size_t plan_sizes(const struct plan *plan, const struct bench_mode *mode, size_t sizes[PLAN_SIZES]);

#endif
