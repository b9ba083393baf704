/*
 * Samples in turns: one of each subject, then the next of each, so that a change of the machine's
 * state meets all of them alike. Batches of samples lie between two quiet stretches of the core; a
 * batch in which or after which a neighbour is noticed is dropped as a whole.
 */
#include "measure.h"

#include <stdio.h>
#include <stdlib.h>

#include "../cpu.h"
#include "../json.h"
#include "clock.h"
#include "cold.h"

/* A cell that has used up its budget still gets this many samples. */
#define FEWEST 5

/* Attempts per wanted sample without patience to wait for a quiet core. */
#define ATTEMPTS 4

/* Calls of a sample of a cold mode, each after other code. */
#define COLD_CALLS 16

/* A batch ends after this many samples or seconds. */
#define BATCH 64
#define BATCH_SECONDS 200e-6

struct cell {
    struct bench_work work;
    double *cycles; /* of one call, for each sample kept */
    size_t kept, dropped;
    double used;
    int absent; /* the subject does not have the mode */
};

struct batch {
    struct cell *cells[BATCH]; /* whose last sample is of this batch, once for each sample */
    size_t count;
    double start;
};

struct timed {
    const struct bench_subject *subject;
    const struct bench_work *work;
    const struct bench_mode *mode;
};

static void run_loop(const void *argument)
{
    const struct timed *t = argument;
    t->subject->loops[t->mode->kind](t->subject, t->work);
}

/* Repeats a call until a sample is long enough; the first calls also warm the caches. */
static void choose_reps(const struct plan *plan, const struct timed *t, struct bench_work *work)
{
    work->reps = 1;
    run_loop(t);
    while (!t->mode->cold) {
        double cycles = clock_run(run_loop, t).cycles;
        if (cycles >= plan->cycles / 2 || work->reps >= 1000000)
            break;
        double more = plan->cycles / cycles;
        size_t next = (size_t)((double)work->reps * (more > 16 ? 16 : more));
        if (next <= work->reps)
            break;
        work->reps = next;
    }
}

static int wants_more(const struct plan *plan, const struct cell *c)
{
    if (c->absent || c->kept >= plan->samples)
        return 0;
    if (plan->patience <= 0 && c->kept + c->dropped >= ATTEMPTS * plan->samples)
        return 0;
    return c->used < plan->budget || c->kept + c->dropped < FEWEST;
}

/* A tenth is not measured: other subjects have used caches and predictors since the last turn. */
static struct clock_sample run_warm(const struct timed *t)
{
    struct bench_work warm = *t->work;
    warm.reps /= 10;
    const struct timed w = {t->subject, &warm, t->mode};
    run_loop(&w);
    return clock_run(run_loop, t);
}

/* The mean of single calls, since the counter's steps may be as long as a tenth of a call. */
static struct clock_sample run_cold(const struct timed *t)
{
    struct clock_sample all = {.undisturbed = 1};
    for (int i = 0; i < COLD_CALLS; i++) {
        cold_code();
        struct clock_sample one = clock_run(run_loop, t);
        all.cycles += one.cycles / COLD_CALLS;
        all.undisturbed &= one.undisturbed;
        if (!i || one.per_cycle < all.per_cycle)
            all.per_cycle = one.per_cycle;
    }
    return all;
}

/* Whether the core was alone during this sample, which is then kept. */
static int take_sample(const struct plan *plan, struct cell *c, const struct timed *t)
{
    /* The previous subject may have left upper halves in use, as one library does. */
    cpu_clean_vectors();
    struct clock_sample sample = t->mode->cold ? run_cold(t) : run_warm(t);
    c->used += sample.cycles;
    if (plan->rate > 0 && (!sample.undisturbed || sample.per_cycle < plan->rate)) {
        c->dropped++;
        return 0;
    }
    size_t messages = bench_bursts(t->mode) && t->mode->bytes == BENCH_ANY ? BENCH_BURST : 1;
    c->cycles[c->kept++] = sample.cycles / (double)(c->work.reps * messages);
    return 1;
}

/* Ends a batch, keeping its samples or not, and begins the next; returns whether patience is left. */
static int next_batch(const struct plan *plan, struct batch *b, int keep, double *patience)
{
    if (!keep) {
        for (size_t i = 0; i < b->count; i++) {
            b->cells[i]->kept--;
            b->cells[i]->dropped++;
        }
        *patience -= clock_seconds() - b->start;
    }
    b->count = 0;
    if (plan->patience <= 0)
        return 1;
    if (!keep)
        clock_wait(plan->rate, patience);
    b->start = clock_seconds();
    return *patience > 0;
}

static int is_full(const struct batch *b)
{
    return b->count == BATCH || clock_seconds() - b->start > BATCH_SECONDS;
}

/* One sample of each cell that needs more; returns whether to continue. */
static int take_turn(const struct plan *plan, struct cell *cells, const struct bench_mode *mode,
                     struct batch *b, double *patience)
{
    int any = 0;
    for (size_t i = 0; i < plan->subject_count; i++) {
        struct cell *c = &cells[i];
        if (!wants_more(plan, c))
            continue;
        any = 1;
        const struct timed t = {plan->subjects[i], &c->work, mode};
        int kept = take_sample(plan, c, &t);
        if (plan->patience <= 0)
            continue;
        if (kept)
            b->cells[b->count++] = c;
        if (!kept || is_full(b)) {
            kept = kept && clock_was_quiet(plan->rate);
            if (!next_batch(plan, b, kept, patience))
                return 0;
        }
    }
    return any;
}

static void write_cell(const struct cell *c, const struct timed *t, size_t size)
{
    printf("{\"event\": \"cell\", \"name\": ");
    json_string(t->subject->name);
    printf(", \"size\": %zu, \"mode\": ", size);
    json_string(t->mode->name);
    printf(", \"reps\": %zu, \"dropped\": %zu, \"cycles\": [", c->work.reps, c->dropped);
    for (size_t i = 0; i < c->kept; i++)
        printf("%s%.2f", i ? ", " : "", c->cycles[i]);
    printf("]}\n");
}

/* Opened messages have the right tag: with a wrong one a kernel clears its output. */
static int is_opened(const struct timed *t)
{
    return t->work->piece ? t->subject->call_open_pieces(t->subject, t->work, t->work->tag)
                          : t->subject->call_open(t->subject, t->work, t->work->tag);
}

static int measure_row(const struct plan *plan, struct bench_memory *m,
                       const struct bench_mode *mode, size_t size)
{
    size_t n = plan->subject_count;
    struct cell *cells = calloc(n, sizeof *cells);
    double patience = plan->patience;
    double *cycles = calloc(n * plan->samples, sizeof *cycles);
    if (!cells || !cycles)
        return -1;
    if (bench_opens(mode))
        memory_tags(m, mode, size);
    if (bench_bursts(mode))
        bursts_write(m, mode, size);
    for (size_t i = 0; i < n; i++) {
        cells[i].cycles = cycles + i * plan->samples;
        cells[i].work = memory_work(m, plan, i, mode, size);
        cells[i].absent = !bench_takes(plan->subjects[i], mode, size);
        const struct timed t = {plan->subjects[i], &cells[i].work, mode};
        if (cells[i].absent)
            continue;
        if (bench_opens(mode) && !is_opened(&t)) {
            check_event("wrong", t.subject, size);
            return 1;
        }
        choose_reps(plan, &t, &cells[i].work);
    }
    struct batch batch = {.count = 0};
    clock_wait(plan->rate, &patience);
    batch.start = clock_seconds();
    while (take_turn(plan, cells, mode, &batch, &patience))
        continue;
    if (batch.count && !clock_was_quiet(plan->rate))
        next_batch(plan, &batch, 0, &patience);
    for (size_t i = 0; i < n; i++) {
        const struct timed t = {plan->subjects[i], &cells[i].work, mode};
        if (!cells[i].absent)
            write_cell(&cells[i], &t, size);
    }
    fflush(stdout);
    free(cycles);
    free(cells);
    return 0;
}

int measure(const struct plan *plan, struct bench_memory *m)
{
    for (size_t i = 0; i < plan->mode_count; i++) {
        size_t sizes[PLAN_SIZES], count = plan_sizes(plan, plan->modes[i], sizes);
        for (size_t j = 0; j < count; j++) {
            int failed = measure_row(plan, m, plan->modes[i], sizes[j]);
            if (failed)
                return failed;
        }
    }
    return 0;
}
