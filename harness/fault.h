/* The buffers of a call, and what a stopped call says about them. */
#ifndef GHASHGEN_FAULT_H
#define GHASHGEN_FAULT_H

#include "guard.h"
#include "kernel.h"
#include "trap.h"

/* The categories of `check`. */
enum category {
    CHECK_ABI,
    CHECK_INPUT_BOUNDS,
    CHECK_ALIGNMENT,
    CHECK_TABLE_BOUNDS,
    CHECK_STATE_BOUNDS,
    CHECK_RESULTS,
    CHECK_COUNT
};

struct buffers {
    struct guard input, key, table, state;
    struct guard addend, factor; /* y and p of combine; power writes to the latter */
};

/* Room for input_bytes of message and for the table at any place; 0, or -1 with errno set. */
int buffers_open(struct buffers *b, const struct ghashgen_kernel *k, size_t input_bytes);

/* Where an exact-size, aligned table goes: against the guard page after, before, or neither. */
enum table_place { TABLE_AT_END, TABLE_AT_START, TABLE_LEAST_ALIGNED };
uint8_t *place_table(struct buffers *b, const struct ghashgen_kernel *k, enum table_place place);

/* The same against neither, `residue` bytes past a multiple of 4096. */
uint8_t *place_table_at(struct buffers *b, const struct ghashgen_kernel *k, size_t residue);

/* Which check a stopped call fails. */
enum category fault_category(const struct trap *t, const struct buffers *b);

/* The buffer that an address lies in or beside, or the stack; NULL if it is neither. */
const struct guard *buffers_at(const struct buffers *b, const void *address);

/* "read at in+17, 1 byte past the end (len=17), by update+0x1f"; `at` is the guard of the address. */
void fault_describe(const struct trap *t, const struct ghashgen_kernel *k, const struct guard *at,
                    char *text, size_t text_size);

#endif
