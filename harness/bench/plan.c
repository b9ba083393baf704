/* The plan: one word and one value a line. */
#include "plan.h"

#include <errno.h>
#include <stdlib.h>

static int number(const char *value, double low, double high, double *out)
{
    char *end;
    errno = 0;
    *out = strtod(value, &end);
    return !errno && end != value && !*end && *out >= low && *out <= high;
}

static int add_subject(struct plan *p, const char *value)
{
    const struct bench_subject *s = bench_find(value);
    if (!s || p->subject_count == PLAN_SUBJECTS)
        return 0;
    p->subjects[p->subject_count++] = s;
    return 1;
}

static int add_size(struct plan *p, const char *value)
{
    double size;
    if (!number(value, 1, (double)PLAN_LARGEST, &size) || p->size_count == PLAN_SIZES)
        return 0;
    p->sizes[p->size_count++] = (size_t)size;
    return 1;
}

static int add_mode(struct plan *p, const char *value)
{
    const struct bench_mode *found = NULL;
    for (size_t i = 0; i < bench_mode_count; i++)
        if (strcmp(bench_modes[i].name, value) == 0)
            found = &bench_modes[i];
    for (size_t i = 0; i < p->mode_count; i++)
        if (p->modes[i] == found)
            return 0;
    if (found)
        p->modes[p->mode_count++] = found;
    return found != NULL;
}

static int set_samples(struct plan *p, const char *value)
{
    double n;
    if (!number(value, 1, 1e5, &n))
        return 0;
    p->samples = (size_t)n;
    return 1;
}

static int set_cycles(struct plan *p, const char *value)
{
    return number(value, 1, 1e9, &p->cycles);
}

static int set_budget(struct plan *p, const char *value)
{
    return number(value, 1, 1e12, &p->budget);
}

static int set_nops(struct plan *p, const char *value)
{
    return number(value, 0, 1, &p->nops);
}

static int set_patience(struct plan *p, const char *value)
{
    return number(value, 0, 1e6, &p->patience);
}

static int set_offset(struct plan *p, const char *value)
{
    double n;
    if (!number(value, 0, 4095, &n))
        return 0;
    p->offset = (size_t)n;
    return 1;
}

static int set_aad(struct plan *p, const char *value)
{
    double n;
    if (!number(value, 0, PLAN_MOST_AAD, &n))
        return 0;
    p->aad = (size_t)n;
    return 1;
}

static int set_core(struct plan *p, const char *value)
{
    double n;
    if (!number(value, -1, 1e6, &n))
        return 0;
    p->core = (int)n;
    return 1;
}

static const struct {
    const char *word;
    int (*take)(struct plan *, const char *);
} words[] = {
    {"subject", add_subject}, {"size", add_size},         {"mode", add_mode},
    {"samples", set_samples}, {"cycles", set_cycles},     {"budget", set_budget},
    {"nops", set_nops},       {"patience", set_patience}, {"offset", set_offset},
    {"core", set_core},       {"aad", set_aad},
};

static int take(struct plan *p, const char *word, const char *value)
{
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(words[i].word, word) == 0)
            return words[i].take(p, value);
    return 0;
}

int plan_read(FILE *stream, struct plan *plan, char *text, size_t text_size)
{
    char line[512], word[32], value[256];
    memset(plan, 0, sizeof *plan);
    plan->samples = 51;
    plan->cycles = 20000;
    plan->budget = 1e8;
    plan->nops = 0.9;
    plan->patience = 10;
    plan->core = -1;
    plan->aad = BENCH_AAD;
    while (fgets(line, sizeof line, stream)) {
        line[strcspn(line, "\n")] = '\0';
        if (sscanf(line, "%31s %255s", word, value) != 2 || !take(plan, word, value)) {
            snprintf(text, text_size, "plan: cannot use the line: %s", line);
            return -1;
        }
    }
    return 0;
}

int plan_has(const struct plan *plan, enum bench_kind kind)
{
    for (size_t i = 0; i < plan->mode_count; i++)
        if (plan->modes[i]->kind == kind)
            return 1;
    return 0;
}

size_t plan_sizes(const struct plan *plan, const struct bench_mode *mode, size_t sizes[PLAN_SIZES])
{
    if (mode->bytes != BENCH_ANY) {
        sizes[0] = (size_t)mode->bytes;
        return 1;
    }
    size_t count = 0;
    for (size_t i = 0; i < plan->size_count; i++)
        if (!mode->most || plan->sizes[i] <= mode->most)
            sizes[count++] = plan->sizes[i];
    return count;
}
