/* Memory between inaccessible pages, with canaries around its object. */
#ifndef GHASHGEN_GUARD_H
#define GHASHGEN_GUARD_H

#include <stddef.h>
#include <stdint.h>

struct guard {
    const char *name;
    uint8_t *map;    /* inaccessible pages, the usable pages, inaccessible pages */
    uint8_t *pages;  /* the usable pages */
    size_t capacity; /* their bytes */
    uint8_t *object; /* the object placed last */
    size_t size;
    int sparse; /* zeros, not canaries, lie around the object */
};

/* Makes room for objects up to size bytes; 0, or -1 with errno set. */
int guard_open(struct guard *g, const char *name, size_t size);
void guard_close(struct guard *g);

/*
 * Place an object of size bytes and fill everything with the canary pattern; the memory becomes
 * writable. The object ends gap bytes before the guard page, or begins offset bytes after one.
 */
uint8_t *guard_place_end(struct guard *g, size_t size, size_t gap);
uint8_t *guard_place_start(struct guard *g, size_t size, size_t offset);

/*
 * Like guard_open and guard_place_end for a large read-only object of zeros: unwritten parts take no
 * memory, and there are no canaries. NULL with errno set if there is no room.
 */
uint8_t *guard_open_sparse(struct guard *g, const char *name, size_t size, size_t gap);

/* Stores to the memory fault from here on, until the next placement. */
void guard_read_only(const struct guard *g);

/* 1 and the offset from the object's start if a byte around the object has changed, else 0. */
int guard_damaged(const struct guard *g, ptrdiff_t *offset);

/* Whether an address lies in the memory or in its inaccessible pages. */
int guard_contains(const struct guard *g, const void *address);

/* "in+17, 1 byte past the end (len=17)" for an address that the memory contains. */
void guard_describe(const struct guard *g, const void *address, char *text, size_t text_size);

#endif
