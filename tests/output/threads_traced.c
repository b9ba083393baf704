/*
 * Prints which accesses each thread made, in its order: threads_steps.py names them, and
 * test_threads_trace.py has put STEP(n) before each in the runtime's C.
 *
 *     ROUNDS    calls of each caller of each pool
 *
 * A line a thread: who it is, then numbers of steps. What is hashed is a sum, so that all time goes
 * to the protocol; a wrong sum is exit status 1.
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_THREADS_SEEN = 256, MOST_STEPS = 1 << 15 };

struct log {
    const char *who;
    size_t count;
    unsigned char steps[MOST_STEPS];
};

static struct log *logs[MOST_THREADS_SEEN];
static atomic_uint log_count;
static _Thread_local struct log *mine;
static _Thread_local unsigned turn;

static void step(unsigned number)
{
    if (!mine) {
        unsigned place = atomic_fetch_add(&log_count, 1);
        mine = calloc(1, sizeof *mine);
        if (!mine || place >= MOST_THREADS_SEEN)
            abort();
        mine->who = "worker";
        logs[place] = mine;
    }
    if (mine->count < MOST_STEPS)
        mine->steps[mine->count++] = (unsigned char)number;
    /* Others come between, even on one core. */
    turn = turn * 1103515245u + 12345u + number;
    if (turn >> 16 & 1)
        sched_yield();
}

#define STEP(n) step(n)
#include "ghashgen_threads.c"

enum { ROOM = 1 << 14, CALLERS = 3 };

static uint8_t message[ROOM];

static void sum(const void *table, uint8_t x[16], const uint8_t *in, size_t len)
{
    (void)table;
    for (size_t i = 0; i < len; i++)
        x[0] = (uint8_t)(x[0] + in[i]);
}

/* Powers are of no account: sums of pieces add up. */
static void add(uint8_t x[16], const uint8_t y[16], const uint8_t p[16])
{
    (void)p;
    x[0] = (uint8_t)(x[0] + y[0]);
}

static struct ghashgen_pool_key key;
static struct ghashgen_pool *pool;
static unsigned rounds;
static atomic_int wrong;

static void *call(void *argument)
{
    unsigned seed = *(unsigned *)argument;
    step(0);
    mine->who = "caller";
    for (unsigned i = 0; i < rounds; i++) {
        uint8_t x[16] = {0}, expected[16] = {0};
        size_t aad_len, len;
        seed = seed * 1103515245u + 12345u;
        len = seed >> 16 & (ROOM - 1);
        aad_len = seed & 1 ? len / 2 : 7;
        sum(NULL, expected, message, aad_len);
        sum(NULL, expected, message, len);
        ghashgen_pool_hash(pool, &key, x, message, aad_len, message, len);
        if (x[0] != expected[0])
            atomic_store(&wrong, 1);
    }
    return NULL;
}

/* The main thread calls, waits for the other callers, and destroys the pool. */
static void serve_callers(unsigned threads, unsigned callers, size_t crossover, unsigned spin_ns)
{
    pthread_t ids[CALLERS];
    unsigned seeds[CALLERS];
    mine = NULL; /* a pool, a log */
    pool = ghashgen_pool_create(threads);
    ghashgen_pool_limits(pool, crossover, spin_ns);
    for (unsigned i = 0; i < callers; i++) {
        seeds[i] = 7 * i + threads;
        if (i && pthread_create(&ids[i], NULL, call, &seeds[i]))
            abort();
    }
    call(&seeds[0]);
    for (unsigned i = 1; i < callers; i++)
        pthread_join(ids[i], NULL);
    ghashgen_pool_destroy(pool);
}

int main(int argc, char **argv)
{
    static const uint8_t h[16] = {1};
    rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 10;
    for (size_t i = 0; i < ROOM; i++)
        message[i] = (uint8_t)(i * 2654435761u >> 24);
    ghashgen_pool_key_init(&key, sum, add, NULL, h);
    for (unsigned threads = 2; threads <= 4; threads++)
        for (unsigned callers = 1; callers <= CALLERS; callers++)
            for (unsigned spins = 0; spins < 2; spins++) {
                serve_callers(threads, callers, 0, 20000 * spins);
                serve_callers(threads, callers, 4096, 20000 * spins);
            }
    for (unsigned i = 0; i < atomic_load(&log_count); i++) {
        printf("%s", logs[i]->who);
        for (size_t j = 0; j < logs[i]->count; j++)
            printf(" %u", logs[i]->steps[j]);
        puts("");
        free(logs[i]);
    }
    return atomic_load(&wrong);
}
