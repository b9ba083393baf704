/*
 * GHASH through the dispatcher of a chosen set. Standard input: H, then for each message a 32-bit
 * number of parts, their 32-bit lengths, and their bytes; each part is one update. One line each:
 * the kernel of every part, then the state. With a list of features as argument, the set for them;
 * "prepare" fills every table first, "shared" calls only what leaves the context alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ghashgen_chosen.h"
#include "ghashgen_dispatch.h"

static int read_exactly(void *to, size_t size)
{
    return fread(to, 1, size, stdin) == size;
}

static int message(struct ghashgen_chosen *ctx, int shared)
{
    static uint8_t in[1 << 17];
    static uint32_t lengths[64];
    uint8_t x[16] = {0};
    uint32_t parts;
    if (!read_exactly(&parts, sizeof parts))
        return 0;
    if (parts > 64 || !read_exactly(lengths, parts * sizeof lengths[0]))
        exit(3);
    for (uint32_t i = 0; i < parts; i++) {
        if (lengths[i] > sizeof in || !read_exactly(in, lengths[i]))
            exit(3);
        if (shared)
            ghashgen_chosen_update_filled(ctx, x, in, lengths[i]);
        else
            ghashgen_chosen_update(ctx, x, in, lengths[i]);
        printf("%s ", ghashgen_chosen_kernel(ctx, lengths[i]));
    }
    for (int i = 0; i < 16; i++)
        printf("%02x", x[i]);
    putchar('\n');
    return 1;
}

int main(int count, char **arguments)
{
    static struct ghashgen_chosen ctx;
    const char *how = count > 1 ? arguments[1] : "";
    const struct ghashgen_chosen_set *set = ghashgen_chosen_best();
    uint8_t h[16], product[16] = {0x80}, seen = 0;
    if (strcmp(how, "none") == 0)
        return ghashgen_chosen_best_for(0) != NULL;
    if (!set)
        return 4;
    puts(ghashgen_chosen_isa(set));
    if (!read_exactly(h, sizeof h))
        return 3;
    ghashgen_chosen_init(&ctx, set, h);
    if (strcmp(how, "prepare") == 0)
        for (size_t len = 1; len < (size_t)1 << 40; len *= 2)
            ghashgen_chosen_prepare(&ctx, len);
    while (message(&ctx, strcmp(how, "shared") == 0))
        continue;
    /* The block 80 00 … is the one of the field: the product is H. */
    ghashgen_chosen_mul(&ctx, product);
    if (memcmp(product, h, 16) != 0)
        return 5;
    ghashgen_chosen_wipe(&ctx);
    for (size_t i = 0; i < sizeof ctx; i++)
        seen |= ((const uint8_t *)&ctx)[i];
    return seen ? 6 : 0;
}
