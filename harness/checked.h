/*
 * Single calls of `check`: each between guard pages, by a call that checks the convention, with its
 * result against ref_ctmul64.
 */
#ifndef GHASHGEN_CHECKED_H
#define GHASHGEN_CHECKED_H

#include "expected.h"
#include "fault.h"
#include "ghash.h"
#include "report.h"

/* What varies over a sweep: one key, one state, one place of the table. */
struct sweep {
    enum table_place table;
    uint8_t h[16], x[16];
};

struct checker {
    const struct ghashgen_kernel *k;
    struct ghash f;
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

/* Names the next call for the report; checked_init does not change it. */
void say_where(struct checker *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Fills the table where it is; 1 if init returned. */
int checked_init(struct checker *c, struct place key);

/* A table for the sweep; if init faults at the wanted place, one with room on both sides. */
int checked_prepare(struct checker *c, struct place key);

/*
 * Calls of the other functions: 1 if they returned and are right. A result that is not is reported
 * as `wrong`. combine is x*H^m + y for y, the sweep's state reversed.
 */
int checked_update(struct checker *c, size_t len, struct place input, struct place state,
                   int dirty_upper, enum category wrong);
int checked_mul(struct checker *c, struct place state, int dirty_upper, enum category wrong);
int checked_power(struct checker *c, uint64_t m, struct place result, int dirty_upper,
                  enum category wrong);
int checked_combine(struct checker *c, uint64_t m, struct place state, struct place other,
                    int dirty_upper, enum category wrong);

#endif
