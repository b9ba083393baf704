/*
 * `sampled`: kernels at random points with independent powers. A job from standard input, all
 * numbers u32 little-endian by default:
 *
 *   "GHP1", seed[32], polyval, blocks, lanes, rests, rest[rests], top, max_len, dumped points,
 *   first point, kernels, maps, the images of the maps (128 times 16 bytes each); then a kernel:
 *   run, n, name[n], table bytes, cells, a cell: kind, power, step;
 *   points of mul, points of combine, points of update at every length 0..max_len.
 *
 * Output is lines of JSON: the requested number of first points, with every kernel's table for them;
 * then one line for each kernel that was run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "cpu.h"
#include "ghash.h"
#include "json.h"
#include "points.h"
#include "trap.h"

#define CHUNK 64
#define CPU_SECONDS 60

enum function { UPDATE, MUL, COMBINE };

struct subject {
    const struct ghashgen_kernel *k; /* NULL: not run */
    struct ghash f;
    char name[256];
    size_t table_bytes, cell_count;
    struct cell *cells;
    uint32_t mul_points, combine_points, *points;
    uint8_t *memory, *table;
    uint64_t calls, wrong;
    char first[256];
    int stopped;
};

struct job {
    struct points all;
    uint32_t dumped, first, subject_count;
    struct subject *subjects;
    /* A chunk of points. */
    struct point chunk[CHUNK];
    uint32_t *lengths, count; /* those that some kernel runs in this chunk */
    uint8_t *expected;        /* [CHUNK][count][16] */
    uint8_t product[CHUNK][16], combined[CHUNK][16];
    uint32_t used;
    uint64_t start;
    /* The call that runs, for a fault. */
    struct subject *subject;
    volatile enum function function;
    volatile uint32_t length;
    volatile uint64_t point;
};

static void *allocate(size_t size)
{
    void *p = calloc(1, size ? size : 1);
    if (!p) {
        perror("ghashgen-harness");
        exit(EXIT_INTERNAL);
    }
    return p;
}

static void read_bytes(void *to, size_t size)
{
    if (size && fread(to, 1, size, stdin) != size) {
        complain("standard input ends within a job");
        exit(EXIT_USAGE);
    }
}

static uint32_t read_number(void)
{
    uint8_t b[4];
    read_bytes(b, 4);
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static uint32_t read_below(uint32_t low, uint32_t high, const char *what)
{
    uint32_t v = read_number();
    if (v < low || v > high) {
        complain("%s is %u, not %u to %u", what, v, low, high);
        exit(EXIT_USAGE);
    }
    return v;
}

static void read_subject(struct job *job, struct subject *s)
{
    uint32_t run = read_below(0, 1, "run");
    read_bytes(s->name, read_below(1, sizeof s->name - 1, "a name's length"));
    s->table_bytes = read_below(0, 1 << 20, "table bytes");
    s->cell_count = read_below(0, (uint32_t)s->table_bytes / 16, "cells");
    s->cells = allocate(s->cell_count * sizeof *s->cells);
    for (size_t c = 0; c < s->cell_count; c++) {
        s->cells[c].kind =
            read_below(0, CELL_LINEAR + job->all.map_count - MAP_LINEAR - 1, "a cell's kind");
        s->cells[c].power = read_below(s->cells[c].kind >= CELL_R, job->all.top, "a cell's power");
        s->cells[c].step = read_below(1, POWERS_MAX, "a cell's step");
    }
    s->mul_points = read_number();
    s->combine_points = read_number();
    s->points = allocate(((size_t)job->all.max_len + 1) * sizeof *s->points);
    int update = 0;
    for (uint32_t i = 0; i <= job->all.max_len; i++)
        update |= (s->points[i] = read_number()) != 0;
    if (!run)
        return;
    s->k = kernel_find(s->name);
    if (!s->k) {
        complain("no kernel is named %s", s->name);
        exit(EXIT_USAGE);
    }
    if (s->k->needs & ~cpu_features()) {
        complain("%s needs features which this CPU lacks", s->name);
        exit(EXIT_MISSING);
    }
    s->f = ghash_of(s->k);
    if ((update && !s->f.update) || (s->mul_points && !s->f.mul) ||
        (s->combine_points && !s->f.combine)) {
        complain("%s has not the functions that are to be sampled", s->name);
        exit(EXIT_USAGE);
    }
}

static void read_job(struct job *job)
{
    static struct map maps[MAPS_MAX];
    char magic[4];
    read_bytes(magic, 4);
    if (memcmp(magic, "GHP1", 4) != 0) {
        complain("standard input does not begin with GHP1");
        exit(EXIT_USAGE);
    }
    struct points *all = &job->all;
    read_bytes(all->seed, 32);
    all->polyval = (int)read_below(0, 1, "polyval");
    all->structure.blocks = read_below(1, POWERS_MAX, "blocks");
    all->structure.lanes = read_below(1, 8, "lanes");
    all->structure.rests = read_below(0, 16, "rests");
    for (uint32_t i = 0; i < all->structure.rests; i++)
        all->structure.rest[i] = read_below(1, all->structure.blocks, "a rest");
    all->top = read_below(all->structure.blocks, POWERS_MAX, "the top power");
    all->max_len = read_below(0, 1 << 20, "the longest length");
    job->dumped = read_number();
    job->first = read_number();
    job->subject_count = read_number();
    all->map_count = read_below(MAP_LINEAR, MAPS_MAX, "maps");
    for (uint32_t i = 0; i < all->map_count; i++) {
        static uint8_t images[128][16];
        read_bytes(images, sizeof images);
        map_init(&maps[i], (const uint8_t(*)[16])images);
    }
    all->maps = maps;
    job->subjects = allocate(job->subject_count * sizeof *job->subjects);
    for (uint32_t i = 0; i < job->subject_count; i++) {
        struct subject *s = &job->subjects[i];
        read_subject(job, s);
        /* Aligned to what is promised and to nothing larger. */
        size_t align = s->k ? s->k->table_align : 64;
        s->memory = allocate(s->table_bytes + 3 * 4096);
        s->table = (uint8_t *)(((uintptr_t)s->memory + 4095) / 4096 * 4096 + align);
    }
    for (int i = 0; i < CHUNK; i++) {
        job->chunk[i].stream = allocate(point_stream_bytes(all));
        job->chunk[i].multiples = allocate(POWERS_MAX * sizeof *job->chunk[i].multiples);
    }
    job->lengths = allocate(((size_t)all->max_len + 1) * sizeof *job->lengths);
    job->expected = allocate(CHUNK * ((size_t)all->max_len + 1) * 16);
}

static uint32_t most_points(const struct job *job, uint32_t length)
{
    uint32_t most = job->dumped;
    for (uint32_t i = 0; i < job->subject_count; i++) {
        const struct subject *s = &job->subjects[i];
        if (s->k && s->points[length] > most)
            most = s->points[length];
    }
    return most;
}

static uint32_t all_points(const struct job *job)
{
    uint32_t most = job->dumped;
    for (uint32_t i = 0; i <= job->all.max_len; i++)
        if (most_points(job, i) > most)
            most = most_points(job, i);
    for (uint32_t i = 0; i < job->subject_count; i++) {
        const struct subject *s = &job->subjects[i];
        if (s->k && s->mul_points > most)
            most = s->mul_points;
        if (s->k && s->combine_points > most)
            most = s->combine_points;
    }
    return most;
}

static void prepare_chunk(struct job *job, uint64_t start, uint32_t used)
{
    job->start = start;
    job->used = used;
    job->count = 0;
    for (uint32_t i = 0; i <= job->all.max_len; i++)
        if (most_points(job, i) > start)
            job->lengths[job->count++] = i;
    for (uint32_t i = 0; i < used; i++) {
        struct point *p = &job->chunk[i];
        point_draw(&job->all, p, job->first + start + i);
        expected_states(&job->all, p, job->lengths, job->count,
                        job->expected + (size_t)i * job->count * 16);
        expected_product(&job->all, p, job->product[i]);
        expected_combined(&job->all, p, job->combined[i]);
    }
}

static void hex(char *text, const uint8_t *bytes)
{
    for (int i = 0; i < 16; i++)
        sprintf(text + 2 * i, "%02x", bytes[i]);
}

static void name_call(const struct job *job, char *text, size_t size)
{
    static const char *const names[] = {"update", "mul", "combine"};
    if (job->function == UPDATE)
        snprintf(text, size, "update of %u bytes, point %llu", job->length,
                 (unsigned long long)job->point);
    else
        snprintf(text, size, "%s, point %llu", names[job->function],
                 (unsigned long long)job->point);
}

static void compare(struct job *job, const uint8_t got[16], const uint8_t expected[16])
{
    struct subject *s = job->subject;
    s->calls++;
    if (memcmp(got, expected, 16) == 0)
        return;
    if (s->wrong++ == 0) {
        char call[96], a[33], b[33];
        name_call(job, call, sizeof call);
        hex(a, got);
        hex(b, expected);
        snprintf(s->first, sizeof s->first, "%s: got %s, expected %s", call, a, b);
    }
}

static void run_point(struct job *job, uint32_t i)
{
    struct subject *s = job->subject;
    struct point *p = &job->chunk[i];
    const uint64_t turn = job->start + i;
    uint8_t x[16];
    job->point = p->number;
    point_table(&job->all, p, s->cells, s->cell_count, s->table, s->table_bytes);
    job->function = MUL;
    if (turn < s->mul_points) {
        memcpy(x, p->x, 16);
        kernel_call(s->k, s->f.mul, ARGUMENTS((uintptr_t)s->table, (uintptr_t)x));
        compare(job, x, job->product[i]);
    }
    job->function = COMBINE;
    if (turn < s->combine_points) {
        memcpy(x, p->x, 16);
        kernel_call(s->k, s->f.combine,
                    ARGUMENTS((uintptr_t)x, (uintptr_t)p->y, (uintptr_t)p->p));
        compare(job, x, job->combined[i]);
    }
    job->function = UPDATE;
    const uint8_t *expected = job->expected + (size_t)i * job->count * 16;
    for (uint32_t k = 0; k < job->count; k++) {
        if (turn >= s->points[job->lengths[k]])
            continue;
        job->length = job->lengths[k];
        memcpy(x, p->x, 16);
        kernel_call(
            s->k, s->f.update,
            ARGUMENTS((uintptr_t)s->table, (uintptr_t)x, (uintptr_t)p->data, job->length));
        compare(job, x, expected + 16 * k);
    }
}

static void run_chunk(void *argument)
{
    struct job *job = argument;
    for (uint32_t i = 0; i < job->used; i++)
        run_point(job, i);
}

static void print_bytes(int *first, const char *key, const uint8_t *bytes, size_t size)
{
    json_key(first, key);
    putchar('"');
    for (size_t i = 0; i < size; i++)
        printf("%02x", bytes[i]);
    putchar('"');
}

static void dump_point(struct job *job, uint32_t i)
{
    const struct point *p = &job->chunk[i];
    int first = 1;
    printf("{");
    print_bytes(&first, "x", p->x, 16);
    print_bytes(&first, "y", p->y, 16);
    print_bytes(&first, "p", p->p, 16);
    print_bytes(&first, "powers", p->power, 16 * (size_t)job->all.top);
    print_bytes(&first, "data", p->data, job->all.max_len);
    print_bytes(&first, "mul", job->product[i], 16);
    print_bytes(&first, "combine", job->combined[i], 16);
    print_bytes(&first, "update", job->expected + (size_t)i * job->count * 16,
                16 * (size_t)job->count);
    json_key(&first, "tables");
    printf("[");
    for (uint32_t k = 0; k < job->subject_count; k++) {
        struct subject *s = &job->subjects[k];
        point_table(&job->all, p, s->cells, s->cell_count, s->table, s->table_bytes);
        printf(k ? ", \"" : "\"");
        for (size_t b = 0; b < s->table_bytes; b++)
            printf("%02x", s->table[b]);
        printf("\"");
    }
    printf("]}\n");
}

static void print_result(const struct subject *s)
{
    int first = 1;
    printf("{");
    json_key(&first, "kernel");
    json_string(s->name);
    json_key(&first, "calls");
    printf("%llu", (unsigned long long)s->calls);
    json_key(&first, "wrong");
    printf("%llu", (unsigned long long)s->wrong);
    json_key(&first, "first");
    json_string(s->first);
    printf("}\n");
}

int command_sampled(void)
{
    static struct job job;
    read_job(&job);
    const uint64_t most = all_points(&job);
    for (uint64_t start = 0; start < most; start += CHUNK) {
        prepare_chunk(&job, start, most - start < CHUNK ? (uint32_t)(most - start) : CHUNK);
        for (uint32_t i = 0; i < job.used && start + i < job.dumped; i++)
            dump_point(&job, i);
        for (uint32_t i = 0; i < job.subject_count; i++) {
            struct subject *s = job.subject = &job.subjects[i];
            struct trap t;
            if (!s->k || s->stopped || trap_call(run_chunk, &job, CPU_SECONDS, &t))
                continue;
            char call[96];
            name_call(&job, call, sizeof call);
            s->stopped = 1;
            s->wrong++;
            snprintf(s->first, sizeof s->first, "%s: %s", call, trap_signal_name(t.signal));
        }
    }
    for (uint32_t i = 0; i < job.subject_count; i++)
        if (job.subjects[i].k)
            print_result(&job.subjects[i]);
    return EXIT_OK;
}
