/* A pool on Windows against one thread, by a kernel: POOLS LONGEST STEP.
 *
 * Pools of 1 to 9 threads come and go, some whose threads sleep at once; each hashes every STEP-th
 * length. Callers of threads of their own share the last one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include "ghashgen.h"
#include "ghashgen_threads.h"

#define GLUE_(a, b) a##_##b
#define GLUE(a, b) GLUE_(a, b)
#define NAME(function) GLUE(KERNEL, function)

enum { CROSSOVER = 1024, CALLERS = 4, TABLE = 1 << 14 };

static _Alignas(64) unsigned char table[TABLE];
static struct ghashgen_pool_key key;
static uint8_t *in;
static size_t longest, step;

static int sweep(struct ghashgen_pool *pool)
{
    for (size_t len = 0; len <= longest; len += step) {
        uint8_t x[16] = {1, 2, 3}, right[16] = {1, 2, 3};
        size_t aad = len % 301;
        ghashgen_pool_hash(pool, &key, x, in, aad, in + aad, len - aad);
        NAME(update)(table, right, in, aad);
        NAME(update)(table, right, in + aad, len - aad);
        if (memcmp(x, right, 16) != 0) {
            printf("%zu bytes, %u threads\n", len, ghashgen_pool_threads(pool));
            return 1;
        }
    }
    return 0;
}

static DWORD WINAPI call(void *pool)
{
    return (DWORD)sweep(pool);
}

int main(int argc, char **argv)
{
    static const uint8_t h[16] = {0x66, 0xe9, 0x4b, 0xd4, 0xef, 0x8a, 0x2c, 0x3b};
    struct ghashgen_pool *pool = NULL;
    HANDLE callers[CALLERS];
    DWORD wrong = 0, one;
    if (argc != 4)
        return 2;
    longest = strtoull(argv[2], NULL, 10);
    step = strtoull(argv[3], NULL, 10);
    in = malloc(longest + 1);
    for (size_t i = 0; i < longest; i++)
        in[i] = (uint8_t)((uint32_t)i * 2654435761u >> 24);
    NAME(init)(table, h);
    ghashgen_pool_key_init(&key, NAME(update), NAME(combine), table, h);
    for (unsigned i = 0; i < (unsigned)atoi(argv[1]); i++) {
        ghashgen_pool_destroy(pool);
        pool = ghashgen_pool_create(i % 9 + 1);
        if (ghashgen_pool_threads(pool) != i % 9 + 1)
            return 3;
        ghashgen_pool_limits(pool, CROSSOVER, i % 2 ? 20000 : 0);
        wrong |= (DWORD)sweep(pool);
    }
    for (int i = 0; i < CALLERS; i++)
        if (!(callers[i] = CreateThread(NULL, 0, call, pool, 0, NULL)))
            return 4;
    for (int i = 0; i < CALLERS; i++) {
        WaitForSingleObject(callers[i], INFINITE);
        GetExitCodeThread(callers[i], &one);
        wrong |= one;
    }
    ghashgen_pool_destroy(pool);
    free(in);
    puts("done");
    return wrong != 0;
}
