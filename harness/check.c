/*
 * `check`: every length up to a block past two unrolled groups, every placement against a guard
 * page, every alignment, by calls that check the convention; results against ref_ctmul64. The table
 * goes to every place in a line of 64 bytes that its promised alignment allows, once written there
 * and once copied there.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "commands.h"
#include "expected.h"
#include "fault.h"
#include "reference.h"
#include "report.h"

#define CALL_CPU_SECONDS 1
#define LINE_BYTES 64

/* What varies over a sweep: one key, one state, one place of the table. */
struct sweep {
    enum table_place table;
    uint8_t h[16], x[16];
};

struct checker {
    const struct ghashgen_kernel *k;
    struct buffers b;
    struct report report;
    uint8_t *data; /* max_len bytes of message */
    uint8_t *copy; /* of a table */
    size_t max_len;
    const struct sweep *sweep;
    uint8_t *table;
    struct expected expected;
    char where[160]; /* the call in words */
};

/* Where an object of a call lies: `distance` bytes from the guard page at its end or its start. */
struct place {
    int at_end;
    size_t distance;
};

static const struct place against_end = {1, 0}, against_start = {0, 0};

static uint8_t *put(struct guard *g, struct place p, const uint8_t *bytes, size_t size)
{
    uint8_t *object = p.at_end ? guard_place_end(g, size, p.distance)
                               : guard_place_start(g, size, p.distance);
    if (size)
        memcpy(object, bytes, size);
    return object;
}

struct checked_call {
    const struct ghashgen_kernel *k;
    kernel_entry entry;
    uint64_t args[4], violations;
    int dirty_upper;
};

static void perform(void *argument)
{
    struct checked_call *c = argument;
    c->violations = abi_call(c->k, c->entry, c->args, c->dirty_upper);
}

/* Calls, and reports a stop or a violation; 1 if the call returned. */
static int call(struct checker *c, struct checked_call *call)
{
    char what[256];
    struct trap t;
    if (*c->report.unfinished)
        return 0;
    c->report.calls++;
    call->k = c->k;
    if (!trap_call(perform, call, CALL_CPU_SECONDS, &t)) {
        fault_describe(&t, c->k, &c->b, what, sizeof what);
        report_failure(&c->report, fault_category(&t, &c->b), c->where, what);
        if (trap_is_timeout(&t))
            snprintf(c->report.unfinished, sizeof c->report.unfinished, "not finished: %s: %s",
                     c->where, what);
        return 0;
    }
    if (call->violations) {
        abi_describe(call->violations, what, sizeof what);
        report_failure(&c->report, CHECK_ABI, c->where, what);
    }
    return 1;
}

__attribute__((format(printf, 2, 3))) static void say_where(struct checker *c, const char *format,
                                                            ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(c->where, sizeof c->where, format, arguments);
    va_end(arguments);
}

static void check_canaries(struct checker *c, const struct guard *g, enum category category)
{
    ptrdiff_t offset;
    char what[128], at[96];
    if (!guard_damaged(g, &offset))
        return;
    guard_describe(g, g->object + offset, at, sizeof at);
    snprintf(what, sizeof what, "write at %s", at);
    report_failure(&c->report, category, c->where, what);
}

/* 1 if x holds what it must; else reports under the category given. */
static int check_state(struct checker *c, const uint8_t x[16], const uint8_t expected[16],
                       enum category category)
{
    char what[128];
    size_t used = 0;
    check_canaries(c, &c->b.state, CHECK_STATE_BOUNDS);
    if (memcmp(x, expected, 16) == 0)
        return 1;
    used += (size_t)snprintf(what, sizeof what, "got ");
    for (int i = 0; i < 16; i++)
        used += (size_t)snprintf(what + used, sizeof what - used, "%02x", x[i]);
    used += (size_t)snprintf(what + used, sizeof what - used, ", expected ");
    for (int i = 0; i < 16; i++)
        used += (size_t)snprintf(what + used, sizeof what - used, "%02x", expected[i]);
    report_failure(&c->report, category, c->where, what);
    return 0;
}

/* Fills the table where it is; `where` has been said. */
static int init(struct checker *c, struct place key)
{
    const uint8_t *h = put(&c->b.key, key, c->sweep->h, 16);
    guard_read_only(&c->b.key);
    struct checked_call init = {
        .entry = c->k->init,
        .args = {(uintptr_t)c->table, (uintptr_t)h, ~UINT64_C(0) - 41, ~UINT64_C(0) - 43},
    };
    int returned = call(c, &init);
    if (returned)
        check_canaries(c, &c->b.table, CHECK_TABLE_BOUNDS);
    guard_read_only(&c->b.table);
    return returned;
}

static int init_at(struct checker *c, enum table_place table, struct place key)
{
    static const char *const names[] = {"ends at a guard page", "begins after a guard page",
                                        "is no more aligned than promised"};
    c->table = place_table(&c->b, c->k, table);
    say_where(c, "init, table %s", names[table]);
    return init(c, key);
}

/* A table for the sweep; where init faults at the wanted place, one with room on both sides. */
static int prepare(struct checker *c, struct place key)
{
    expected_init(&c->expected, c->k, c->sweep->h);
    if (init_at(c, c->sweep->table, key) || init_at(c, TABLE_LEAST_ALIGNED, (struct place){0, 64}))
        return 1;
    if (!*c->report.unfinished)
        snprintf(c->report.unfinished, sizeof c->report.unfinished, "not finished: init failed");
    return 0;
}

static int update(struct checker *c, size_t len, struct place input, struct place state,
                  int dirty_upper, enum category wrong)
{
    uint8_t expected[16];
    memcpy(expected, c->sweep->x, 16);
    expected_update(&c->expected, expected, c->data, len);

    const uint8_t *in = put(&c->b.input, input, c->data, len);
    guard_read_only(&c->b.input);
    uint8_t *x = put(&c->b.state, state, c->sweep->x, 16);
    say_where(c, "update of %zu bytes, in %zu from the guard page at its %s, x %zu from its %s%s",
              len, input.distance, input.at_end ? "end" : "start", state.distance,
              state.at_end ? "end" : "start", dirty_upper ? ", upper vector halves in use" : "");
    struct checked_call update = {
        .entry = c->k->update,
        .args = {(uintptr_t)c->table, (uintptr_t)x, (uintptr_t)in, len},
        .dirty_upper = dirty_upper,
    };
    return call(c, &update) && check_state(c, x, expected, wrong);
}

static int mul(struct checker *c, struct place state, int dirty_upper, enum category wrong)
{
    uint8_t expected[16];
    memcpy(expected, c->sweep->x, 16);
    expected_mul(&c->expected, expected);

    uint8_t *x = put(&c->b.state, state, c->sweep->x, 16);
    say_where(c, "mul, x %zu from the guard page at its %s", state.distance,
              state.at_end ? "end" : "start");
    struct checked_call mul = {
        .entry = c->k->mul,
        .args = {(uintptr_t)c->table, (uintptr_t)x, ~UINT64_C(0) - 41, ~UINT64_C(0) - 43},
        .dirty_upper = dirty_upper,
    };
    return call(c, &mul) && check_state(c, x, expected, wrong);
}

/* H^m by multiplications with H, the highest bit first; the first is that of the subkey's form. */
static void expected_power(struct checker *c, uint8_t p[16], uint64_t m)
{
    static const uint8_t ghash_one[16] = {0x80};
    static const uint8_t polyval_one[16] = {[0] = 1, [15] = 0xC2}; /* x^128: dot's unit */
    memcpy(p, strcmp(c->k->op, "polyval") == 0 ? polyval_one : ghash_one, 16);
    for (uint64_t i = 0; i < m; i++)
        expected_mul(&c->expected, p);
}

static int power(struct checker *c, uint64_t m, struct place result, int dirty_upper,
                 enum category wrong)
{
    uint8_t expected[16];
    expected_power(c, expected, m);
    uint8_t *y = put(&c->b.state, result, c->sweep->x, 16);
    say_where(c, "power of %llu, y %zu from the guard page at its %s", (unsigned long long)m,
              result.distance, result.at_end ? "end" : "start");
    struct checked_call power = {
        .entry = c->k->power,
        .args = {(uintptr_t)c->table, (uintptr_t)y, m, ~UINT64_C(0) - 43},
        .dirty_upper = dirty_upper,
    };
    return call(c, &power) && check_state(c, y, expected, wrong);
}

/* x*H^m + y for the state y of the sweep turned round. */
static int combine(struct checker *c, uint64_t m, struct place state, struct place other,
                   int dirty_upper, enum category wrong)
{
    uint8_t p[16], expected[16], addend[16];
    expected_power(c, p, m);
    memcpy(expected, c->sweep->x, 16);
    for (uint64_t i = 0; i < m; i++)
        expected_mul(&c->expected, expected);
    for (int i = 0; i < 16; i++) {
        addend[i] = (uint8_t)(c->sweep->x[15 - i] ^ 0x5A);
        expected[i] ^= addend[i];
    }
    const uint8_t *factor = put(&c->b.factor, other, p, 16);
    guard_read_only(&c->b.factor);
    const uint8_t *y = put(&c->b.addend, other, addend, 16);
    guard_read_only(&c->b.addend);
    uint8_t *x = put(&c->b.state, state, c->sweep->x, 16);
    say_where(c, "combine over %llu blocks, x %zu from the guard page at its %s, y and p %zu",
              (unsigned long long)m, state.distance, state.at_end ? "end" : "start",
              other.distance);
    struct checked_call combine = {
        .entry = c->k->combine,
        .args = {(uintptr_t)x, (uintptr_t)y, (uintptr_t)factor, ~UINT64_C(0) - 43},
        .dirty_upper = dirty_upper,
    };
    return call(c, &combine) && check_state(c, x, expected, wrong);
}

static void sweep_segments(struct checker *c, struct place p, int dirty_upper)
{
    if (!c->k->power || !c->k->combine)
        return;
    for (uint64_t m = 0; m <= 65; m++) {
        power(c, m, p, dirty_upper, CHECK_RESULTS);
        combine(c, m, p, p, dirty_upper, CHECK_RESULTS);
    }
}

static void sweep_lengths(struct checker *c, struct place p, int dirty_upper)
{
    if (!prepare(c, p))
        return;
    mul(c, p, dirty_upper, CHECK_RESULTS);
    for (size_t len = 0; len <= c->max_len; len++)
        update(c, len, p, p, dirty_upper, CHECK_RESULTS);
    sweep_segments(c, p, dirty_upper);
}

/* A wrong result is one of alignment where the same call is right without a distance. */
static void sweep_input_alignment(struct checker *c, size_t len)
{
    if (len > c->max_len)
        return;
    for (int at_end = 0; at_end < 2; at_end++) {
        enum category wrong = CHECK_RESULTS;
        for (size_t distance = 0; distance < 64; distance++) {
            const struct place input = {at_end, distance};
            int right = update(c, len, input, against_end, 0, wrong);
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
            int right = mul(c, state, 0, wrong) & update(c, len, against_start, state, 0, wrong);
            if (distance == 0 && right)
                wrong = CHECK_ALIGNMENT;
            if (c->k->power && c->k->combine) {
                power(c, len, state, 0, wrong);
                combine(c, len, state, against_end, 0, wrong);
                combine(c, len, against_end, state, 0, wrong);
            }
        }
    }
}

static void sweep_alignments(struct checker *c)
{
    const size_t group = (size_t)c->k->blocks * 16;
    /* Around one block, one zmm register, and one and two unrolled groups. */
    const size_t centres[] = {16, 64, group, 2 * group};
    if (!prepare(c, (struct place){0, 1}))
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
 * What a table makes of a block, of tails and of groups. Returns the calls that were right, one bit
 * each; what was right at a multiple of 64, as `before` says, is wrong elsewhere by its alignment.
 */
static unsigned use_table(struct checker *c, unsigned before)
{
    const size_t group = (size_t)c->k->blocks * 16;
    const size_t lengths[] = {5, group - 1, group, c->max_len};
    const unsigned count = sizeof lengths / sizeof lengths[0];
    unsigned right = 0;
    for (unsigned i = 0; i <= count; i++) {
        enum category wrong = before >> i & 1 ? CHECK_ALIGNMENT : CHECK_RESULTS;
        int good = i < count ? update(c, lengths[i], against_end, against_end, 0, wrong)
                             : mul(c, against_end, 0, wrong);
        right |= (unsigned)good << i;
    }
    if (c->k->power && c->k->combine)
        power(c, 41, against_end, 0, before ? CHECK_ALIGNMENT : CHECK_RESULTS);
    return right;
}

/* Wherever init writes a table it writes the same bytes, and they serve wherever they are copied. */
static void sweep_table_alignment(struct checker *c)
{
    unsigned right = 0;
    for (size_t residue = 0; residue < LINE_BYTES; residue += c->k->table_align) {
        c->table = place_table_at(&c->b, c->k, residue);
        say_where(c, "init, table %zu past a multiple of 64", residue);
        if (!init(c, against_end))
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

/* The yardstick itself, against algorithm 1 of SP 800-38D. */
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
