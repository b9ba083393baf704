/* Single calls of `check`. */
#include "checked.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "abi.h"

#define CALL_CPU_SECONDS 1

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
    size_t count;
    int dirty_upper;
};

static void perform(void *argument)
{
    struct checked_call *c = argument;
    c->violations = abi_call(c->k, c->entry, c->args, c->count, c->dirty_upper);
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
        fault_describe(&t, c->k, buffers_at(&c->b, t.address), what, sizeof what);
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

void say_where(struct checker *c, const char *format, ...)
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

/* 1 if x is right; else reports under the given category. */
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

int checked_init(struct checker *c, struct place key)
{
    const uint8_t *h = put(&c->b.key, key, c->sweep->h, 16);
    guard_read_only(&c->b.key);
    struct checked_call init = {
        .entry = c->f.init,
        .args = {(uintptr_t)c->table, (uintptr_t)h},
        .count = 2,
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
    return checked_init(c, key);
}

int checked_prepare(struct checker *c, struct place key)
{
    expected_init(&c->expected, c->k, c->sweep->h);
    if (init_at(c, c->sweep->table, key) || init_at(c, TABLE_LEAST_ALIGNED, (struct place){0, 64}))
        return 1;
    if (!*c->report.unfinished)
        snprintf(c->report.unfinished, sizeof c->report.unfinished, "not finished: init failed");
    return 0;
}

int checked_update(struct checker *c, size_t len, struct place input, struct place state,
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
        .entry = c->f.update,
        .args = {(uintptr_t)c->table, (uintptr_t)x, (uintptr_t)in, len},
        .count = 4,
        .dirty_upper = dirty_upper,
    };
    return call(c, &update) && check_state(c, x, expected, wrong);
}

int checked_mul(struct checker *c, struct place state, int dirty_upper, enum category wrong)
{
    uint8_t expected[16];
    memcpy(expected, c->sweep->x, 16);
    expected_mul(&c->expected, expected);

    uint8_t *x = put(&c->b.state, state, c->sweep->x, 16);
    say_where(c, "mul, x %zu from the guard page at its %s", state.distance,
              state.at_end ? "end" : "start");
    struct checked_call mul = {
        .entry = c->f.mul,
        .args = {(uintptr_t)c->table, (uintptr_t)x},
        .count = 2,
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

int checked_power(struct checker *c, uint64_t m, struct place result, int dirty_upper,
                 enum category wrong)
{
    uint8_t expected[16];
    expected_power(c, expected, m);
    uint8_t *y = put(&c->b.state, result, c->sweep->x, 16);
    say_where(c, "power of %llu, y %zu from the guard page at its %s", (unsigned long long)m,
              result.distance, result.at_end ? "end" : "start");
    struct checked_call power = {
        .entry = c->f.power,
        .args = {(uintptr_t)c->table, (uintptr_t)y, m},
        .count = 3,
        .dirty_upper = dirty_upper,
    };
    return call(c, &power) && check_state(c, y, expected, wrong);
}

int checked_combine(struct checker *c, uint64_t m, struct place state, struct place other,
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
        .entry = c->f.combine,
        .args = {(uintptr_t)x, (uintptr_t)y, (uintptr_t)factor},
        .count = 3,
        .dirty_upper = dirty_upper,
    };
    return call(c, &combine) && check_state(c, x, expected, wrong);
}
