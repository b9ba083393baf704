/*
 * Measures hashing in threads: reads a plan, checks all results, measures in turns, writes a line
 * of JSON for each event, as ghashgen-bench does (../bench/main.c).
 *
 *     variant KERNEL WAY THREADS   what is measured; ways are below
 *     size BYTES
 *     samples N                    of each figure
 *     cycles N                     that a sample takes at least, in calls one after another, or
 *                                  twice what a wake-up takes
 *     budget N                     cycles after which a figure has enough, of five samples
 *
 * Before each sample its calls go on until threads that slept are awake and look for work: a wake-up
 * takes longer than many a sample. A pool cuts what its kernel hashes in 500 ns, and here what is
 * shorter, too.
 *
 * Cycles are wall clock by the clock that a core has when it is busy. A sample in which the system
 * took a core away from a thread is dropped, unless there are more threads than cores.
 */
#define _GNU_SOURCE
#define GHASHGEN_POOL_INTERLEAVED
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>

/* The runtime as it is emitted; its own functions are measured too. */
#include "ghashgen_threads.c"

#include "../bench/clock.h"
#include "../commands.h"
#include "../cpu.h"
#include "../json.h"
#include "../reference.h"

#define CROSSOVER_NS 500 /* with which a pool gains; below, it loses as far as the table says */
#define WAKING_S 400e-6
#define SAMPLE_S 50e-6

enum { MOST_VARIANTS = 64, MOST_SIZES = 32, MOST_SAMPLES = 1000, FEWEST = 5, THREADS = 64 };

struct variant;
typedef void way(const struct variant *, uint8_t x[16], const uint8_t *in, size_t len);

/* A kernel with a table of its own. */
struct subject {
    const struct ghashgen_kernel *kernel;
    struct ghash functions;
    struct ghashgen_pool_key key;
    size_t crossover; /* bytes that are hashed in CROSSOVER_NS */
    _Alignas(64) unsigned char table[8192];
    _Alignas(64) unsigned char columns[8192]; /* the table of a power of H */
};

struct variant {
    char name[200];
    const struct subject *subject;
    way *way;
    struct ghashgen_pool *pool;
    unsigned threads, spin_ns;
};

static struct subject subjects[MOST_VARIANTS];
static struct variant variants[MOST_VARIANTS];
static size_t subject_count, variant_count, sizes[MOST_SIZES], size_count;
static double samples = 51, cycles = 20000, budget = 1e8, ghz;
static double taken[MOST_VARIANTS][MOST_SAMPLES];
static long cores;

static const uint8_t H[16] = {0x66, 0xe9, 0x4b, 0xd4, 0xef, 0x8a, 0x2c, 0x3b,
                              0x88, 0x4c, 0xfa, 0x59, 0xca, 0x34, 0x2b, 0x2e};

/* ---- Ways ---- */

static void one(const struct variant *v, uint8_t x[16], const uint8_t *in, size_t len)
{
    v->subject->key.update(v->subject->key.table, x, in, len);
}

static void pool(const struct variant *v, uint8_t x[16], const uint8_t *in, size_t len)
{
    ghashgen_pool_hash(v->pool, &v->subject->key, x, NULL, 0, in, len);
}

/* As many columns as threads: the kernel has that many. */
static void interleaved(const struct variant *v, uint8_t x[16], const uint8_t *in, size_t len)
{
    const struct ghashgen_pool_columns columns = {
        (ghashgen_update *)kernel_function(v->subject->kernel, "column"), v->subject->columns,
        v->threads};
    ghashgen_pool_hash_interleaved(v->pool, &v->subject->key, &columns, x, in, len);
}

struct piece {
    const struct ghashgen_pool_key *key;
    const uint8_t *in;
    size_t len;
    uint8_t y[16];
    pthread_t id;
};

static void *hash_alone(void *argument)
{
    struct piece *p = argument;
    p->key->update(p->key->table, p->y, p->in, p->len);
    return NULL;
}

/* A thread for each piece, started in the call and joined: the paper's Algorithm 1. */
static void spawn(const struct variant *v, uint8_t x[16], const uint8_t *in, size_t len)
{
    const struct ghashgen_pool_key *key = &v->subject->key;
    size_t blocks = len / BLOCK + (len % BLOCK != 0);
    size_t groups = blocks / GHASHGEN_POOL_GROUP / v->threads, at = 0;
    struct piece pieces[THREADS];
    uint8_t p[16];
    if (!groups) {
        one(v, x, in, len);
        return;
    }
    for (unsigned i = 0; i < v->threads; i++) {
        size_t rest = (v->threads - 1 - i) * groups * GHASHGEN_POOL_GROUP;
        size_t end = rest ? (blocks - rest) * BLOCK : len;
        pieces[i] = (struct piece){.key = key, .in = in + at, .len = end - at};
        if (i == 0)
            memcpy(pieces[i].y, x, 16);
        at = end;
        if (pthread_create(&pieces[i].id, NULL, hash_alone, &pieces[i]))
            abort();
    }
    power(key, p, groups);
    for (unsigned i = 0; i < v->threads; i++) {
        pthread_join(pieces[i].id, NULL);
        if (i == 0)
            memcpy(x, pieces[i].y, 16);
        else
            key->combine(x, pieces[i].y, p);
    }
}

/* Groups in half of a message, as a pool cuts it. */
static size_t half(size_t len)
{
    size_t groups = len / BLOCK / GHASHGEN_POOL_GROUP / 2, unit = 1;
    while (groups / unit >= 16 * 16 * 16)
        unit *= 16;
    return groups - groups % unit ? groups - groups % unit : 1;
}

/* H^m for half a message, by what the key holds. */
static void digits(const struct variant *v, uint8_t x[16], const uint8_t *in, size_t len)
{
    (void)in;
    power(&v->subject->key, x, half(len));
}

typedef void native_power(const void *, uint8_t *, uint64_t);

/* The same, one bit a turn. */
static void bits(const struct variant *v, uint8_t x[16], const uint8_t *in, size_t len)
{
    (void)in;
    ((native_power *)v->subject->functions.power)(v->subject->table, x,
                                                  half(len) * GHASHGEN_POOL_GROUP);
}

static const struct {
    const char *name;
    way *way;
    int pool;         /* whether it has one */
    unsigned spin_ns; /* of it */
    int hashes;
} ways[] = {
    {"one", one, 0, 0, 1},
    {"spawn", spawn, 0, 0, 1},
    {"pool", pool, 1, GHASHGEN_POOL_SPIN_NS, 1},
    {"interleaved", interleaved, 1, GHASHGEN_POOL_SPIN_NS, 1},
    {"sleeping", pool, 1, 0, 1},
    {"digits", digits, 0, 0, 0},
    {"bits", bits, 0, 0, 0},
};
#define WAYS (sizeof ways / sizeof ways[0])

/* ---- Subjects ---- */

/* C has no combine: its table of p is made in the call. */
static void combine_portable(uint8_t x[16], const uint8_t y[16], const uint8_t p[16])
{
    uint64_t P[6];
    ref_ctmul64_init(P, p);
    ref_ctmul64_mul(P, x);
    for (int i = 0; i < 16; i++)
        x[i] ^= y[i];
}

/* Bytes that a kernel hashes in CROSSOVER_NS. */
static size_t crossover_for(const struct ghashgen_pool_key *key)
{
    static const uint8_t in[1 << 12];
    uint8_t x[16] = {0};
    double shortest = 1;
    for (int i = 0; i < 50; i++) {
        double time = clock_seconds();
        key->update(key->table, x, in, sizeof in);
        time = clock_seconds() - time;
        shortest = time < shortest ? time : shortest;
    }
    return (size_t)(sizeof in * CROSSOVER_NS * 1e-9 / (shortest + 1e-9));
}

static struct subject *subject_of(const struct ghashgen_kernel *k)
{
    struct subject *s;
    for (size_t i = 0; i < subject_count; i++)
        if (subjects[i].kernel == k)
            return &subjects[i];
    s = &subjects[subject_count++];
    s->kernel = k;
    s->functions = ghash_of(k);
    if (k->table_bytes > sizeof s->table)
        abort();
    ((native_init *)s->functions.init)(s->table, H);
    ghashgen_pool_key_init(&s->key, (ghashgen_update *)s->functions.update,
                           s->functions.combine ? (ghashgen_combine_with *)s->functions.combine
                                                : combine_portable,
                           s->table, H);
    s->crossover = crossover_for(&s->key);
    return s;
}

static void write_features(uint64_t features)
{
    const char *separator = "";
    printf("[");
    for (size_t i = 0; i < cpu_feature_count; i++)
        if (features & cpu_feature_names[i].bit) {
            printf("%s", separator);
            json_string(cpu_feature_names[i].name);
            separator = ", ";
        }
    printf("]");
}

static const char *add(const char *kernel, const char *way, unsigned threads)
{
    const struct ghashgen_kernel *k = kernel_find(kernel);
    struct variant *v = &variants[variant_count];
    size_t i = 0;
    uint64_t lacking;
    while (i < WAYS && strcmp(ways[i].name, way) != 0)
        i++;
    if (!k || i == WAYS || variant_count == MOST_VARIANTS || !threads || threads > THREADS)
        return "no such variant";
    snprintf(v->name, sizeof v->name, "%s %s %u", kernel, way, threads);
    lacking = k->needs & ~cpu_features();
    if (lacking) {
        printf("{\"event\": \"missing\", \"name\": ");
        json_string(v->name);
        printf(", \"features\": ");
        write_features(lacking);
        printf("}\n");
        return NULL;
    }
    v->subject = subject_of(k);
    if (ways[i].way == bits && !v->subject->functions.power)
        return "a kernel without power";
    if (ways[i].way == interleaved) {
        uint8_t power[16];
        if (!kernel_function(k, "column"))
            return "a kernel without column";
        ((native_power *)v->subject->functions.power)(v->subject->table, power, threads);
        ((native_init *)v->subject->functions.init)(subject_of(k)->columns, power);
    }
    v->way = ways[i].way;
    v->threads = threads;
    if (ways[i].pool) {
        v->pool = ghashgen_pool_create(threads);
        if (ghashgen_pool_threads(v->pool) != threads)
            return "threads that do not start";
        v->spin_ns = ways[i].spin_ns;
    }
    variant_count++;
    return NULL;
}

/* ---- Checking and measuring ---- */

static int hashes(const struct variant *v)
{
    for (size_t i = 0; i < WAYS; i++)
        if (ways[i].way == v->way)
            return ways[i].hashes;
    return 0;
}

/* Messages of this length are cut, whatever it is. */
static void set_crossovers(size_t len)
{
    for (size_t i = 0; i < variant_count; i++) {
        size_t crossover = variants[i].subject->crossover;
        ghashgen_pool_limits(variants[i].pool, len < crossover ? len : crossover,
                             variants[i].spin_ns);
    }
}

/* Hashes are those of plain C; powers are each other's. */
static int check(const uint8_t *in, size_t len)
{
    uint8_t expected[16] = {0}, P[16] = {0};
    uint64_t table[6];
    ref_ctmul64_init(table, H);
    ref_ctmul64_update(table, expected, in, len);
    P[0] = 0x80; /* 1 */
    for (size_t i = 0; i < half(len) * GHASHGEN_POOL_GROUP && len <= 1 << 20; i++)
        ref_ctmul64_mul(table, P);
    for (size_t i = 0; i < variant_count; i++) {
        uint8_t x[16] = {0};
        if (!hashes(&variants[i]) && len > 1 << 20)
            continue;
        variants[i].way(&variants[i], x, in, len);
        if (memcmp(x, hashes(&variants[i]) ? expected : P, 16) != 0) {
            printf("{\"event\": \"wrong\", \"name\": ");
            json_string(variants[i].name);
            printf(", \"size\": %zu}\n", len);
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

/* Cycles that so many calls take, or -1 if a core was taken away in them. */
static double run(const struct variant *v, const uint8_t *in, size_t len, double calls)
{
    uint8_t x[16] = {0};
    long before;
    double time = clock_seconds();
    do
        v->way(v, x, in, len);
    while (v->pool && clock_seconds() - time < WAKING_S);
    before = taken_away();
    time = clock_seconds();
    for (double i = 0; i < calls; i++)
        v->way(v, x, in, len);
    time = clock_seconds() - time;
    if (v->threads <= (unsigned long)cores && taken_away() != before)
        return -1;
    return time * ghz * 1e9;
}

static void measure(const uint8_t *in, size_t len)
{
    double calls[MOST_VARIANTS], spent[MOST_VARIANTS] = {0};
    size_t kept[MOST_VARIANTS] = {0}, dropped[MOST_VARIANTS] = {0};
    const double least = cycles > SAMPLE_S * ghz * 1e9 ? cycles : SAMPLE_S * ghz * 1e9;
    for (size_t i = 0; i < variant_count; i++) {
        double once = run(&variants[i], in, len, 1);
        if (once < least)
            once = run(&variants[i], in, len, 10) / 10;
        calls[i] = once > 0 && once < least ? (double)(unsigned long)(least / once + 1) : 1;
    }
    for (size_t round = 0; round < (size_t)samples; round++)
        for (size_t i = 0; i < variant_count; i++) {
            double time;
            if (spent[i] > budget && round >= FEWEST)
                continue;
            time = run(&variants[i], in, len, calls[i]);
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
        printf(", \"mode\": \"threads\", \"size\": %zu, \"dropped\": %zu, \"cycles\": [", len,
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

int main(void)
{
    char line[256];
    size_t most = 0;
    uint8_t *in;
    cpu_set_t allowed;
    (void)cpu_features();
    if (sched_getaffinity(0, sizeof allowed, &allowed))
        return EXIT_INTERNAL;
    cores = CPU_COUNT(&allowed);
    ghz = clock_ghz();
    printf("{\"event\": \"start\", \"core\": -1, \"ghz\": %.3f, \"features\": ", ghz);
    write_features(cpu_features());
    printf("}\n");
    while (fgets(line, sizeof line, stdin)) {
        const char *wrong = take(line);
        if (wrong) {
            fprintf(stderr, "ghashgen-threads: %s: %s", wrong, line);
            return EXIT_USAGE;
        }
    }
    for (size_t i = 0; i < size_count; i++)
        most = sizes[i] > most ? sizes[i] : most;
    in = malloc(most + 1);
    if (!in)
        return EXIT_INTERNAL;
    for (size_t i = 0; i < most; i++)
        in[i] = (uint8_t)((uint32_t)(i + 1000) * 2654435761u >> 24);
    for (size_t i = 0; i < size_count; i++) {
        set_crossovers(sizes[i]);
        if (!check(in, sizes[i]))
            return EXIT_CHECK_FAILED;
    }
    for (size_t i = 0; i < size_count; i++) {
        set_crossovers(sizes[i]);
        measure(in, sizes[i]);
    }
    printf("{\"event\": \"end\"}\n");
    for (size_t i = 0; i < variant_count; i++)
        ghashgen_pool_destroy(variants[i].pool);
    free(in);
    return EXIT_OK;
}
