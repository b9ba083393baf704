/*
 * `check`: every length up to a block past two unrolled groups, every placement against a guard
 * page, every alignment, by calls that check the convention; results against ref_ctmul64. The table
 * goes to every place in a line of 64 bytes that its promised alignment allows, once written there
 * and once copied there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checked.h"
#include "commands.h"
#include "reference.h"

#define LINE_BYTES 64

static const struct place against_end = {1, 0}, against_start = {0, 0};

static void sweep_segments(struct checker *c, struct place p, int dirty_upper)
{
    if (!c->f.power || !c->f.combine)
        return;
    for (uint64_t m = 0; m <= 65; m++) {
        checked_power(c, m, p, dirty_upper, CHECK_RESULTS);
        checked_combine(c, m, p, p, dirty_upper, CHECK_RESULTS);
    }
}

static void sweep_lengths(struct checker *c, struct place p, int dirty_upper)
{
    if (!checked_prepare(c, p))
        return;
    checked_mul(c, p, dirty_upper, CHECK_RESULTS);
    for (size_t len = 0; len <= c->max_len; len++)
        checked_update(c, len, p, p, dirty_upper, CHECK_RESULTS);
    sweep_segments(c, p, dirty_upper);
}

/* A wrong result counts as one of alignment if the same call is right without a distance. */
static void sweep_input_alignment(struct checker *c, size_t len)
{
    if (len > c->max_len)
        return;
    for (int at_end = 0; at_end < 2; at_end++) {
        enum category wrong = CHECK_RESULTS;
        for (size_t distance = 0; distance < 64; distance++) {
            const struct place input = {at_end, distance};
            int right = checked_update(c, len, input, against_end, 0, wrong);
            if (distance == 0 && right)
                wrong = CHECK_ALIGNMENT;
        }
    }
}

static void sweep_state_alignment(struct checker *c, size_t len)
{
    for (int at_end = 0; at_end < 2; at_end++) {
        enum category wrong = CHECK_RESULTS;
        for (size_t distance = 0; distance < 16; distance++) {
            const struct place state = {at_end, distance};
            int right = checked_mul(c, state, 0, wrong) &
                        checked_update(c, len, against_start, state, 0, wrong);
            if (distance == 0 && right)
                wrong = CHECK_ALIGNMENT;
            if (c->f.power && c->f.combine) {
                checked_power(c, len, state, 0, wrong);
                checked_combine(c, len, state, against_end, 0, wrong);
                checked_combine(c, len, against_end, state, 0, wrong);
            }
        }
    }
}

static void sweep_alignments(struct checker *c)
{
    const size_t group = (size_t)c->k->blocks * 16;
    /* Around one block, one zmm register, and one and two unrolled groups. */
    const size_t centres[] = {16, 64, group, 2 * group};
    if (!checked_prepare(c, (struct place){0, 1}))
        return;
    sweep_input_alignment(c, 0);
    sweep_input_alignment(c, 1);
    sweep_input_alignment(c, c->max_len);
    for (size_t i = 0; i < sizeof centres / sizeof centres[0]; i++) {
        sweep_input_alignment(c, centres[i] - 1);
        sweep_input_alignment(c, centres[i]);
        sweep_input_alignment(c, centres[i] + 1);
        sweep_input_alignment(c, centres[i] + 16);
    }
    sweep_state_alignment(c, 5);
    sweep_state_alignment(c, group);
    sweep_state_alignment(c, group + 21);
}

/*
 * Uses a table for a block, for tails and for groups. Returns the right calls, one bit each. A call
 * that was right at a multiple of 64 (`before`) and is wrong elsewhere fails by its alignment.
 */
static unsigned use_table(struct checker *c, unsigned before)
{
    const size_t group = (size_t)c->k->blocks * 16;
    const size_t lengths[] = {5, group - 1, group, c->max_len};
    const unsigned count = sizeof lengths / sizeof lengths[0];
    unsigned right = 0;
    for (unsigned i = 0; i <= count; i++) {
        enum category wrong = before >> i & 1 ? CHECK_ALIGNMENT : CHECK_RESULTS;
        int good = i < count ? checked_update(c, lengths[i], against_end, against_end, 0, wrong)
                             : checked_mul(c, against_end, 0, wrong);
        right |= (unsigned)good << i;
    }
    if (c->f.power && c->f.combine)
        checked_power(c, 41, against_end, 0, before ? CHECK_ALIGNMENT : CHECK_RESULTS);
    return right;
}

/* init writes the same bytes at every place, and they work wherever they are copied. */
static void sweep_table_alignment(struct checker *c)
{
    unsigned right = 0;
    for (size_t residue = 0; residue < LINE_BYTES; residue += c->k->table_align) {
        c->table = place_table_at(&c->b, c->k, residue);
        say_where(c, "init, table %zu past a multiple of 64", residue);
        if (!checked_init(c, against_end))
            continue;
        if (residue == 0) {
            memcpy(c->copy, c->table, c->k->table_bytes);
            right = use_table(c, 0);
            continue;
        }
        if (memcmp(c->copy, c->table, c->k->table_bytes) != 0)
            report_failure(&c->report, CHECK_ALIGNMENT, c->where,
                           "not the bytes that it writes at a multiple of 64");
        use_table(c, right);

        c->table = place_table_at(&c->b, c->k, residue);
        memcpy(c->table, c->copy, c->k->table_bytes);
        guard_read_only(&c->b.table);
        use_table(c, right);
    }
}

/* The reference itself, against algorithm 1 of SP 800-38D. */
static int references_agree(const struct sweep *s, const uint8_t *data, size_t max_len)
{
    uint64_t fast[6], slow[2];
    ref_ctmul64_init(fast, s->h);
    ref_bitwise_init(slow, s->h);
    for (size_t len = 0; len <= max_len; len += len < 64 ? 1 : 61) {
        uint8_t x[16], y[16];
        memcpy(x, s->x, 16);
        memcpy(y, s->x, 16);
        ref_ctmul64_update(fast, x, data, len);
        ref_bitwise_update(slow, y, data, len);
        if (memcmp(x, y, 16) != 0)
            return 0;
    }
    return 1;
}

/* A fixed sequence (xorshift64, Marsaglia 2003), so that every run makes the same calls. */
static void fill(uint8_t *bytes, size_t size, uint64_t *seed)
{
    for (size_t i = 0; i < size; i++) {
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        bytes[i] = (uint8_t)(*seed >> 24);
    }
}

int command_check(const struct ghashgen_kernel *k)
{
    static struct checker c;
    struct sweep sweeps[3] = {
        {.table = TABLE_AT_END}, {.table = TABLE_AT_START}, {.table = TABLE_LEAST_ALIGNED}};
    uint64_t seed = UINT64_C(0x9E3779B97F4A7C15);
    c.k = k;
    c.f = ghash_of(k);
    if (!c.f.init || !c.f.mul || !c.f.update) {
        complain("%s has not init, mul and update", k->name);
        return EXIT_USAGE;
    }
    c.max_len = ((size_t)k->blocks * 2 + 1) * 16 + 15;
    c.data = malloc(c.max_len);
    c.copy = calloc(1, k->table_bytes);
    if (!c.data || !c.copy || buffers_open(&c.b, k, c.max_len + 64) != 0) {
        perror("ghashgen-harness");
        return EXIT_INTERNAL;
    }
    fill(c.data, c.max_len, &seed);
    for (int i = 0; i < 3; i++) {
        fill(sweeps[i].h, 16, &seed);
        fill(sweeps[i].x, 16, &seed);
    }
    memset(sweeps[1].h, 0xFF, 16); /* every coefficient of H set */
    for (int i = 0; i < 3; i++)
        if (!references_agree(&sweeps[i], c.data, c.max_len)) {
            complain("ref_ctmul64 disagrees with ref_bitwise");
            return EXIT_INTERNAL;
        }

    c.sweep = &sweeps[0];
    sweep_lengths(&c, against_end, 0);
    c.sweep = &sweeps[1];
    sweep_lengths(&c, against_start, 1);
    c.sweep = &sweeps[2];
    sweep_alignments(&c);
    sweep_table_alignment(&c);
    return report_write(&c.report, k->name) ? EXIT_OK : EXIT_CHECK_FAILED;
}
