/* The findings of `check`, by category. */
#ifndef GHASHGEN_REPORT_H
#define GHASHGEN_REPORT_H

#include <stdint.h>

#include "fault.h"

struct finding {
    uint64_t failures;
    char detail[512]; /* of the first failure */
};

struct report {
    struct finding findings[CHECK_COUNT];
    uint64_t calls;
    char unfinished[512]; /* why not every call was made; empty if all were */
};

/* Counts a failure; keeps the text of a category's first. */
void report_failure(struct report *r, enum category category, const char *where, const char *what);

/* Writes the JSON object; returns whether every category ran and passed. */
int report_write(const struct report *r, const char *name);

#endif
