/* Memory between inaccessible pages. */
#include "guard.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Wide enough on either side that a stray access of a group or two still lands there. */
#define GUARD_BYTES ((size_t)65536)

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* One page of the canary pattern; made once, the same for every page. */
static const uint8_t *canary_page(void)
{
    static uint8_t *page;
    if (!page) {
        page = malloc(page_bytes());
        if (!page)
            abort();
        for (size_t i = 0; i < page_bytes(); i++)
            page[i] = (uint8_t)(i * 37 + (i >> 8) * 11 + 0x5B);
    }
    return page;
}

static int open_pages(struct guard *g, const char *name, size_t size, int flags)
{
    if (size > SIZE_MAX / 2) {
        errno = ENOMEM;
        return -1;
    }
    size_t capacity = (size + page_bytes() - 1) / page_bytes() * page_bytes();
    if (capacity == 0)
        capacity = page_bytes();
    uint8_t *map = mmap(NULL, capacity + 2 * GUARD_BYTES, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    if (map == MAP_FAILED)
        return -1;
    if (mprotect(map + GUARD_BYTES, capacity, PROT_READ | PROT_WRITE) != 0) {
        munmap(map, capacity + 2 * GUARD_BYTES);
        return -1;
    }
    *g = (struct guard){.name = name, .map = map, .pages = map + GUARD_BYTES, .capacity = capacity};
    g->object = g->pages;
    return 0;
}

int guard_open(struct guard *g, const char *name, size_t size)
{
    return open_pages(g, name, size, 0);
}

uint8_t *guard_open_sparse(struct guard *g, const char *name, size_t size, size_t gap)
{
    if (open_pages(g, name, gap + size, MAP_NORESERVE) != 0)
        return NULL;
    g->sparse = 1;
    g->object = g->pages + g->capacity - gap - size;
    g->size = size;
    return g->object;
}

void guard_close(struct guard *g)
{
    if (g->map)
        munmap(g->map, g->capacity + 2 * GUARD_BYTES);
    *g = (struct guard){.name = g->name};
}

static void protect(const struct guard *g, int protection)
{
    if (mprotect(g->pages, g->capacity, protection) != 0) {
        perror("ghashgen-harness: mprotect");
        abort();
    }
}

static uint8_t *place(struct guard *g, size_t at, size_t size)
{
    protect(g, PROT_READ | PROT_WRITE);
    for (size_t i = 0; i < g->capacity; i += page_bytes())
        memcpy(g->pages + i, canary_page(), page_bytes());
    g->object = g->pages + at;
    g->size = size;
    return g->object;
}

uint8_t *guard_place_end(struct guard *g, size_t size, size_t gap)
{
    return place(g, g->capacity - gap - size, size);
}

uint8_t *guard_place_start(struct guard *g, size_t size, size_t offset)
{
    return place(g, offset, size);
}

void guard_read_only(const struct guard *g)
{
    protect(g, PROT_READ);
}

/* The first byte in [from, to) of the page at p that is not the pattern's; to if there is none. */
static size_t first_change(const uint8_t *p, size_t from, size_t to)
{
    const uint8_t *pattern = canary_page();
    if (from >= to || memcmp(p + from, pattern + from, to - from) == 0)
        return to;
    while (p[from] == pattern[from])
        from++;
    return from;
}

int guard_damaged(const struct guard *g, ptrdiff_t *offset)
{
    const size_t page = page_bytes();
    const size_t begin = (size_t)(g->object - g->pages), end = begin + g->size;
    if (g->sparse)
        return 0;
    for (size_t base = 0; base < g->capacity; base += page) {
        /* The object's part of this page is [low, high). */
        size_t low = begin < base ? 0 : begin - base < page ? begin - base : page;
        size_t high = end < base ? 0 : end - base < page ? end - base : page;
        size_t change = first_change(g->pages + base, 0, low);
        if (change == low) {
            change = first_change(g->pages + base, high, page);
            if (change == page)
                continue;
        }
        *offset = (ptrdiff_t)(base + change) - (ptrdiff_t)begin;
        return 1;
    }
    return 0;
}

int guard_contains(const struct guard *g, const void *address)
{
    uintptr_t a = (uintptr_t)address, map = (uintptr_t)g->map;
    return g->map && a >= map && a - map < g->capacity + 2 * GUARD_BYTES;
}

void guard_describe(const struct guard *g, const void *address, char *text, size_t text_size)
{
    ptrdiff_t at = (const uint8_t *)address - g->object;
    ptrdiff_t size = (ptrdiff_t)g->size;
    ptrdiff_t beyond = at < 0 ? -at : at - size + 1;
    if (at >= 0 && at < size)
        snprintf(text, text_size, "%s+%td, inside it (len=%td)", g->name, at, size);
    else
        snprintf(text, text_size, "%s%+td, %td byte%s %s (len=%td)", g->name, at, beyond,
                 beyond == 1 ? "" : "s", at < 0 ? "before the start" : "past the end", size);
}
