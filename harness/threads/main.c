/*
 * Measures messages in threads: reads a plan, checks all results, measures in turns and writes a
 * line of JSON for each event, like ghashgen-bench (../bench/main.c).
 *
 *     variant KERNEL WAY THREADS   what is measured; ways are those of ways.c
 *     size BYTES
 *     samples N                    of each figure
 *     cycles N                     that a sample takes at least, in calls one after another, or
 *                                  twice what a wake-up takes
 *     budget N                     cycles after which a figure has enough, of five samples
 *
 * Before each sample its calls repeat until sleeping threads are awake: a wake-up takes longer than
 * many samples. A pool divides messages that its kernel needs 500 ns for; here also shorter ones.
 *
 * Cycles are wall clock by the clock that a core has when it is busy. A sample in which the system
 * took a core away from a thread is dropped, unless there are more threads than cores.
 */
#define _GNU_SOURCE
#include "threads.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "../bench/clock.h"
#include "../bench/gcm_judge.h"
#include "../commands.h"
#include "../cpu.h"
#include "../json.h"
#include "../reference.h"

#define WAKING_S 400e-6
#define SAMPLE_S 50e-6
#define JUDGED ((size_t)1 << 16) /* bytes; longer results are compared with the first subject's */
#define COUNTED ((size_t)1 << 20) /* bytes, for half of which a power is counted out */

enum { MOST_SIZES = 32, MOST_SAMPLES = 1000, FEWEST = 5 };

static struct variant variants[MOST_VARIANTS];
static size_t variant_count, sizes[MOST_SIZES], size_count;
static double samples = 51, cycles = 20000, budget = 1e8, ghz;
static double taken[MOST_VARIANTS][MOST_SAMPLES];
static long cores;

static const char *add(const char *kernel, const char *way, unsigned threads)
{
    const struct ghashgen_kernel *k = kernel_find(kernel);
    struct variant *v = &variants[variant_count];
    const struct way *found = way_find(way);
    struct subject *subject;
    uint64_t lacking;
    if (!k || !found || variant_count == MOST_VARIANTS || !threads || threads > THREADS)
        return "no such variant";
    snprintf(v->name, sizeof v->name, "%s %s %u", kernel, way, threads);
    lacking = k->needs & ~cpu_features();
    if (lacking) {
        printf("{\"event\": \"missing\", \"name\": ");
        json_string(v->name);
        printf(", \"features\": ");
        json_features(lacking);
        printf("}\n");
        return NULL;
    }
    subject = subject_of(k);
    if (!subject || !kernel_function(k, found->function))
        return "a kernel that has no such way";
    if (strcmp(found->function, "column") == 0)
        subject_columns(subject, threads);
    v->subject = subject;
    v->way = found;
    v->threads = threads;
    if (found->pool) {
        v->pool = ghashgen_pool_create(threads);
        if (ghashgen_pool_threads(v->pool) != threads)
            return "threads that do not start";
    }
    variant_count++;
    return NULL;
}

/* ---- Checking and measuring ---- */

/* Messages of this length are divided; with 0 all are, and wake sleeping threads. */
static void set_crossovers(size_t len)
{
    for (size_t i = 0; i < variant_count; i++) {
        size_t crossover = variants[i].subject->crossover;
        ghashgen_pool_limits(variants[i].pool, len < crossover ? len : crossover,
                             variants[i].way->spin_ns);
    }
}

/* The judge's sealed messages, the same for all, who share one key. */
static void judge(struct message *m)
{
    static const uint8_t zeros[16];
    struct aes_key key;
    uint8_t counter[16] = {[15] = 2};
    memcpy(counter, threads_iv, sizeof threads_iv);
    aes_expand(&key, zeros, 128);
    gcm_counter_mode(&key, counter, m->in, m->len, m->sealed);
    gcm_tag(&key, threads_iv, threads_aad, AAD_BYTES, m->sealed, m->len, m->tag);
}

/* m->sealed and m->tag, by who can be waited for. Of a long message they are those of one call of the
 * first kernel that seals: it was right where the judge could say so. Returns 0 where none does. */
static int seal_message(struct message *m)
{
    for (size_t i = 0; i < variant_count; i++)
        if (variants[i].way->outcome >= SEALED) {
            const struct subject *s = variants[i].subject;
            if (m->len <= JUDGED)
                judge(m);
            else
                s->gcm.kernel.seal(s->table, threads_iv, sizeof threads_iv, threads_aad, AAD_BYTES,
                                   m->in, m->len, m->sealed, m->tag);
            return 1;
        }
    return 0;
}

/* Hashes come from plain C, powers are multiplied out, texts are the judge's. */
static int check(struct message *m)
{
    uint8_t expected[4][16] = {{0}, {0x80}}; /* the hash, and 1, which powers begin with */
    uint64_t table[6];
    ref_ctmul64_init(table, threads_h);
    ref_ctmul64_update(table, expected[HASH], m->in, m->len);
    for (size_t i = 0; i < half(m->len) * GHASHGEN_POOL_GROUP && m->len <= COUNTED; i++)
        ref_ctmul64_mul(table, expected[POWER]);
    if (seal_message(m)) {
        memcpy(expected[SEALED], m->tag, 16);
        memcpy(expected[OPENED], m->tag, 16);
    }
    for (size_t i = 0; i < variant_count; i++) {
        const enum outcome outcome = variants[i].way->outcome;
        uint8_t x[16] = {0};
        if (outcome == POWER && m->len > COUNTED)
            continue;
        if (outcome >= SEALED)
            memset(m->out, 0x5a, m->len);
        variants[i].way->call(&variants[i], x, m);
        if (memcmp(x, expected[outcome], 16) != 0 ||
            (outcome == SEALED && memcmp(m->out, m->sealed, m->len) != 0) ||
            (outcome == OPENED && memcmp(m->out, m->in, m->len) != 0)) {
            printf("{\"event\": \"wrong\", \"name\": ");
            json_string(variants[i].name);
            printf(", \"size\": %zu}\n", m->len);
            return 0;
        }
    }
    return 1;
}

static long taken_away(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nivcsw;
}

/* The cycles of this many calls, or -1 if a core was taken away meanwhile. */
static double run(const struct variant *v, const struct message *m, double calls)
{
    uint8_t x[16] = {0};
    long before;
    double time = clock_seconds();
    do
        v->way->call(v, x, m);
    while (v->pool && clock_seconds() - time < WAKING_S);
    before = taken_away();
    time = clock_seconds();
    for (double i = 0; i < calls; i++)
        v->way->call(v, x, m);
    time = clock_seconds() - time;
    if (v->threads <= (unsigned long)cores && taken_away() != before)
        return -1;
    return time * ghz * 1e9;
}

static void measure(const struct message *m)
{
    double calls[MOST_VARIANTS], spent[MOST_VARIANTS] = {0};
    size_t kept[MOST_VARIANTS] = {0}, dropped[MOST_VARIANTS] = {0};
    const double least = cycles > SAMPLE_S * ghz * 1e9 ? cycles : SAMPLE_S * ghz * 1e9;
    for (size_t i = 0; i < variant_count; i++) {
        double once = run(&variants[i], m, 1);
        if (once < least)
            once = run(&variants[i], m, 10) / 10;
        calls[i] = once > 0 && once < least ? (double)(unsigned long)(least / once + 1) : 1;
    }
    for (size_t round = 0; round < (size_t)samples; round++)
        for (size_t i = 0; i < variant_count; i++) {
            double time;
            if (spent[i] > budget && round >= FEWEST)
                continue;
            time = run(&variants[i], m, calls[i]);
            if (time < 0) {
                dropped[i]++;
                continue;
            }
            spent[i] += time;
            taken[i][kept[i]++] = time / calls[i];
        }
    for (size_t i = 0; i < variant_count; i++) {
        printf("{\"event\": \"cell\", \"name\": ");
        json_string(variants[i].name);
        printf(", \"mode\": \"threads\", \"size\": %zu, \"dropped\": %zu, \"cycles\": [", m->len,
               dropped[i]);
        for (size_t j = 0; j < kept[i]; j++)
            printf("%s%.2f", j ? ", " : "", taken[i][j]);
        printf("]}\n");
    }
    fflush(stdout);
}

static const char *take(const char *line)
{
    char kernel[128], word[32];
    unsigned threads;
    double value;
    if (sscanf(line, "variant %127s %31s %u", kernel, word, &threads) == 3)
        return add(kernel, word, threads);
    if (sscanf(line, "%31s %lf", word, &value) != 2)
        return "a line that is none";
    if (strcmp(word, "samples") == 0 && value <= MOST_SAMPLES)
        samples = value;
    else if (strcmp(word, "cycles") == 0)
        cycles = value;
    else if (strcmp(word, "budget") == 0)
        budget = value;
    else if (strcmp(word, "size") == 0 && size_count < MOST_SIZES)
        sizes[size_count++] = (size_t)value;
    else
        return "an unknown word or too large a value";
    return NULL;
}

/* Texts as long as the longest message: what is sealed of it begins with what is of shorter ones. */
static uint8_t *room(size_t most, int (*byte)(size_t))
{
    uint8_t *found = malloc(most + 1);
    if (!found)
        exit(EXIT_INTERNAL);
    for (size_t i = 0; i < most; i++)
        found[i] = (uint8_t)byte(i);
    return found;
}

static int text_byte(size_t i)
{
    return (uint32_t)(i + 1000) * 2654435761u >> 24;
}

static int nothing(size_t i)
{
    (void)i;
    return 0;
}

static void begin(void)
{
    cpu_set_t allowed;
    (void)cpu_features();
    if (sched_getaffinity(0, sizeof allowed, &allowed))
        exit(EXIT_INTERNAL);
    cores = CPU_COUNT(&allowed);
    ghz = clock_ghz();
    printf("{\"event\": \"start\", \"core\": -1, \"ghz\": %.3f, \"features\": ", ghz);
    json_features(cpu_features());
    printf("}\n");
}

int main(void)
{
    char line[256];
    size_t most = 0;
    uint8_t *in, *sealed, *out;
    struct message messages[MOST_SIZES];
    begin();
    while (fgets(line, sizeof line, stdin)) {
        const char *wrong = take(line);
        if (wrong) {
            fprintf(stderr, "ghashgen-threads: %s: %s", wrong, line);
            return EXIT_USAGE;
        }
    }
    for (size_t i = 0; i < size_count; i++)
        most = sizes[i] > most ? sizes[i] : most;
    in = room(most, text_byte);
    sealed = room(most, nothing);
    out = room(most, nothing);
    for (size_t i = 0; i < size_count; i++) {
        messages[i] = (struct message){in, sealed, out, sizes[i], {0}};
        set_crossovers(0);
        if (!check(&messages[i]))
            return EXIT_CHECK_FAILED;
    }
    for (size_t i = 0; i < size_count; i++) {
        set_crossovers(sizes[i]);
        measure(&messages[i]);
    }
    printf("{\"event\": \"end\"}\n");
    for (size_t i = 0; i < variant_count; i++)
        ghashgen_pool_destroy(variants[i].pool);
    free(in);
    free(sealed);
    free(out);
    return EXIT_OK;
}
