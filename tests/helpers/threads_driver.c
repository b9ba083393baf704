/*
 * Exercises the runtime for threads. Every command compares the pool's results with those of one
 * thread, and returns 0, or 1 after a line that says what was wrong.
 *
 * Built with REFERENCE, the hash is harness/reference_ctmul64.c, which any CPU runs and sanitizers
 * can see into; without it, what the dispatcher takes here (exit status 4 where that is nothing).
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifndef _WIN32
#include <sys/wait.h>
#include <unistd.h>
#endif

#include "ghashgen_threads.h"

#ifdef REFERENCE
#include "reference.h"

static uint64_t table[6];

static void combine(uint8_t x[16], const uint8_t y[16], const uint8_t p[16])
{
    uint64_t P[6];
    ref_ctmul64_init(P, p);
    ref_ctmul64_mul(P, x);
    for (int i = 0; i < 16; i++)
        x[i] ^= y[i];
}

static _Thread_local int caller;
static atomic_ulong helped;
static atomic_ulong least = SIZE_MAX; /* of pieces that threads of the pool have taken, in blocks */
static long late;    /* nanoseconds that threads of the pool lose in each piece */
static long patient; /* that the caller does, so that others come even where cores are few */

static void update(const void *t, uint8_t x[16], const uint8_t *in, size_t len)
{
    const struct timespec lost = {0, caller ? patient : late};
    if (!caller) {
        atomic_fetch_add_explicit(&helped, 1, memory_order_relaxed);
        if ((len + 15) / 16 < atomic_load_explicit(&least, memory_order_relaxed))
            atomic_store_explicit(&least, (len + 15) / 16, memory_order_relaxed);
    }
    if (lost.tv_nsec)
        nanosleep(&lost, NULL);
    ref_ctmul64_update(t, x, in, len);
}

static int make_key(struct ghashgen_pool_key *key, const uint8_t h[16])
{
    ref_ctmul64_init(table, h);
    ghashgen_pool_key_init(key, update, combine, table, h);
    return 1;
}
#else
static struct ghashgen_key table;

static int make_key(struct ghashgen_pool_key *key, const uint8_t h[16])
{
    return ghashgen_key_init(&table, GHASHGEN_GHASH, h) &&
           ghashgen_pool_key_of(key, GHASHGEN_GHASH, &table);
}
#endif

enum { AAD = 300 };

static struct ghashgen_pool_key key;
static uint8_t aad[AAD], *message;
static size_t room;

static uint64_t random64(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    return *seed ^= *seed << 17;
}

static void one_thread(uint8_t x[16], size_t aad_len, const uint8_t *in, size_t len)
{
    key.update(key.table, x, aad, aad_len);
    key.update(key.table, x, in, len);
}

/* Whether the pool's hash of a message is that of one thread. */
static int same(struct ghashgen_pool *pool, size_t aad_len, size_t at, size_t len)
{
    uint8_t x[16], expected[16];
    for (int i = 0; i < 16; i++)
        x[i] = expected[i] = (uint8_t)(len + 31 * (size_t)i);
    one_thread(expected, aad_len, message + at, len);
    ghashgen_pool_hash(pool, &key, x, aad, aad_len, message + at, len);
    if (memcmp(x, expected, 16) == 0)
        return 1;
    printf("%u threads, %zu bytes of AAD, %zu bytes at %zu: wrong\n", ghashgen_pool_threads(pool),
           aad_len, len, at);
    return 0;
}

/* A crossover with which every message is cut, and who sleeps is woken for each. */
enum { ALWAYS = 0 };

static struct ghashgen_pool *pool_of(unsigned threads, size_t crossover, unsigned spin_ns)
{
    struct ghashgen_pool *pool = ghashgen_pool_create(threads);
    ghashgen_pool_limits(pool, crossover, spin_ns);
    return pool;
}

/* Every step bytes up to most, and as many random lengths; AAD of all lengths in turn. */
static int sweep(unsigned threads, size_t step, size_t most, size_t crossover, unsigned spin_ns)
{
    struct ghashgen_pool *pool = pool_of(threads, crossover, spin_ns);
    uint64_t seed = 88172645463325252u + threads;
    size_t aad_len = 0;
    int right = ghashgen_pool_threads(pool) == (threads ? threads : 1);
    for (size_t len = 0; right && len <= most; len += step) {
        size_t other = random64(&seed) % (most + 1), at = random64(&seed) % 64;
        right = same(pool, aad_len++ % (AAD + 1), at, len) &&
                same(pool, aad_len++ % (AAD + 1), at, other);
    }
    ghashgen_pool_destroy(pool);
    return right;
}

/* Random messages, as many of each order of magnitude up to most as of any other. */
static int at_random(unsigned threads, unsigned messages, size_t most, uint64_t seed)
{
    struct ghashgen_pool *pool = pool_of(threads, 4096, 20000);
    int right = 1;
    for (unsigned i = 0; right && i < messages; i++) {
        size_t longest = most >> random64(&seed) % 12;
        right = same(pool, random64(&seed) % (AAD + 1), random64(&seed) % 64,
                     random64(&seed) % (longest + 1));
    }
    ghashgen_pool_destroy(pool);
    return right;
}

/* Messages whose AAD is long enough to be cut, too. */
static int long_aad(unsigned threads)
{
    struct ghashgen_pool *pool = pool_of(threads, ALWAYS, 1000);
    int right = 1;
    for (size_t aad_len = 200; right && aad_len <= AAD; aad_len++)
        right = same(pool, aad_len, 1, 16 * aad_len + 3);
    ghashgen_pool_destroy(pool);
    return right;
}

#ifdef REFERENCE
/* Calls until threads of the pool have taken so many more pieces, for so many seconds at most. */
static int helps(struct ghashgen_pool *pool, unsigned long pieces, int seconds)
{
    unsigned long before = atomic_load(&helped);
    time_t end = time(NULL) + seconds;
    caller = 1;
    patient = 200000;
    while (atomic_load(&helped) - before < pieces) {
        if (!same(pool, 1, 2, room))
            return 0;
        if (time(NULL) > end) {
            puts("the pool does not help");
            return 0;
        }
    }
    patient = 0;
    return 1;
}

static int help(unsigned threads, unsigned long pieces, unsigned spin_ns)
{
    struct ghashgen_pool *pool = pool_of(threads, ALWAYS, spin_ns);
    int right = helps(pool, pieces, 200);
    ghashgen_pool_destroy(pool);
    return right;
}

/* Every length of few blocks, each until threads have taken a piece: none is below a cache line. */
static int small(unsigned threads)
{
    struct ghashgen_pool *pool = pool_of(threads, ALWAYS, 1000000);
    int right = 1;
    caller = 1;
    atomic_store(&least, SIZE_MAX);
    for (size_t most = room; right && room > 0; room--)
        right = most - room < 4 ? helps(pool, 1, 60) : same(pool, 0, 0, room);
    if (atomic_load(&least) < 64 / 16)
        printf("a piece of %lu blocks\n", atomic_load(&least));
    ghashgen_pool_destroy(pool);
    return right && atomic_load(&least) >= 64 / 16;
}
#else
#define helps(pool, pieces, seconds) 1
#endif

/* ---- Several callers ---- */

struct caller {
    struct ghashgen_pool *pool;
    unsigned rounds;
    uint64_t seed;
    int right;
};

static void *call(void *argument)
{
    struct caller *c = argument;
    c->right = 1;
    for (unsigned i = 0; c->right && i < c->rounds; i++) {
        size_t len = random64(&c->seed) % (room / 2);
        c->right = same(c->pool, random64(&c->seed) % AAD, random64(&c->seed) % 64, len);
    }
    return NULL;
}

enum { CALLERS = 3 };

static int callers(struct ghashgen_pool *pool, unsigned rounds, uint64_t seed)
{
    pthread_t ids[CALLERS];
    struct caller c[CALLERS];
    int right = 1;
    for (unsigned i = 0; i < CALLERS; i++) {
        c[i] = (struct caller){.pool = pool, .rounds = rounds, .seed = seed * CALLERS + i + 1};
        if (pthread_create(&ids[i], NULL, call, &c[i]))
            abort();
    }
    for (unsigned i = 0; i < CALLERS; i++) {
        pthread_join(ids[i], NULL);
        right &= c[i].right;
    }
    return right;
}

/* Pools made, shared by callers and destroyed, again and again. */
static int stress(unsigned pools, unsigned rounds)
{
    int right = 1;
    for (unsigned i = 0; right && i < pools; i++) {
        struct ghashgen_pool *pool = pool_of(1 + i % 5, i % 2 ? 512 : ALWAYS, i % 3 ? 2000 * (i % 3) : 0);
        right = callers(pool, rounds, i + 1);
        ghashgen_pool_destroy(pool);
    }
    return right;
}

#ifndef _WIN32
/* ---- fork ---- */

static int in_child(struct ghashgen_pool *pool)
{
    struct ghashgen_pool *own;
    int right;
    alarm(20); /* a child that waits for threads that it does not have */
    right = ghashgen_pool_threads(pool) == 1;
    for (size_t len = 0; right && len < room; len += 4099)
        right = same(pool, len % AAD, 0, len);
    ghashgen_pool_destroy(pool);
    own = pool_of(3, ALWAYS, 1000);
    right = right && ghashgen_pool_threads(own) == 3 && same(own, 7, 0, room);
    ghashgen_pool_destroy(own);
    return right;
}

struct background {
    struct caller caller;
    atomic_int stop;
};

static void *keep_calling(void *argument)
{
    struct background *b = argument;
    while (!atomic_load(&b->stop) && b->caller.right)
        call(&b->caller);
    return NULL;
}

/* Children made while the pool's threads sleep, look for work, and work for another caller. */
static int forks(unsigned children)
{
    int right = 1;
    for (unsigned i = 0; right && i < children; i++) {
        struct ghashgen_pool *pool = pool_of(3, ALWAYS, i % 2 ? 0 : 1000000);
        struct background b = {.caller = {pool, 5, i + 1, 1}};
        pthread_t id;
        pid_t child;
        int busy = i % 3 == 0, status = -1;
        if (busy && pthread_create(&id, NULL, keep_calling, &b))
            abort();
        right = same(pool, 0, 0, room);
        fflush(stdout);
        child = fork();
        if (child == 0) {
            int fine = in_child(pool);
            fflush(stdout);
            _exit(!fine);
        }
        waitpid(child, &status, 0);
        right = right && status == 0 && same(pool, 1, 0, room);
        atomic_store(&b.stop, 1);
        if (busy)
            pthread_join(id, NULL);
        right = right && b.caller.right;
        ghashgen_pool_destroy(pool);
        if (status)
            printf("child %u: status %d\n", i, status);
    }
    return right;
}

/* ---- Callers that end early ---- */

static atomic_int calling;

static void *call_for_ever(void *argument)
{
    struct caller *c = argument;
    uint8_t x[16] = {0};
    for (;;) {
        atomic_fetch_add(&calling, 1);
        ghashgen_pool_hash(c->pool, &key, x, NULL, 0, message, room);
        pthread_testcancel();
    }
    return NULL;
}

static atomic_int destroyed;

/* Cancelled before it destroys a pool, which is to be whole: to join is a cancellation point. */
static void *destroy_cancelled(void *argument)
{
    pthread_cancel(pthread_self());
    ghashgen_pool_destroy(argument);
    atomic_store(&destroyed, 1);
    pthread_testcancel();
    return NULL;
}

static int cancelled_end(void)
{
    int right = 1;
    for (int i = 0; right && i < 10; i++) {
        struct ghashgen_pool *pool = pool_of(24, ALWAYS, 0);
        pthread_t id;
        void *result = NULL;
        atomic_store(&destroyed, 0);
        if (pthread_create(&id, NULL, destroy_cancelled, pool))
            abort();
        pthread_join(id, &result);
        right = result == PTHREAD_CANCELED && atomic_load(&destroyed);
    }
    return right;
}

/* A thread is cancelled in its calls; the pool serves the next caller with all its threads. */
static int cancel(unsigned times)
{
    struct ghashgen_pool *pool = pool_of(3, ALWAYS, 0);
    int right = cancelled_end();
#ifdef REFERENCE
    late = 200000; /* in a cancellation point, and long enough for threads to come */
#endif
    for (unsigned i = 0; right && i < times; i++) {
        struct caller c = {.pool = pool};
        pthread_t id;
        void *result = NULL;
        atomic_store(&calling, 0);
        if (pthread_create(&id, NULL, call_for_ever, &c))
            abort();
        while (atomic_load(&calling) < 2)
            sched_yield();
        pthread_cancel(id);
        pthread_join(id, &result);
        right = result == PTHREAD_CANCELED && same(pool, 3, 0, room) && helps(pool, 1, 60);
        if (result != PTHREAD_CANCELED)
            puts("not cancelled");
    }
    ghashgen_pool_destroy(pool);
    return right;
}

static void leave(int signal)
{
    (void)signal;
    pthread_exit(NULL);
}

static void *leave_by_signal(void *argument)
{
    struct caller *c = argument;
    uint8_t x[16] = {0};
    for (;;) {
        atomic_fetch_add(&calling, 1);
        ghashgen_pool_hash(c->pool, &key, x, NULL, 0, message, room);
    }
    return NULL;
}

/* A thread is ended by a handler in the midst of a call: others lose the pool's help at most. */
static int killed(unsigned times)
{
    struct sigaction action = {.sa_handler = leave};
    int right = 1;
    sigaction(SIGUSR1, &action, NULL);
    for (unsigned i = 0; right && i < times; i++) {
        struct ghashgen_pool *pool = pool_of(3, ALWAYS, i % 2 ? 0 : 50000);
        struct caller c = {.pool = pool};
        pthread_t id;
        atomic_store(&calling, 0);
        if (pthread_create(&id, NULL, leave_by_signal, &c))
            abort();
        while (atomic_load(&calling) < 2 + (int)i % 7)
            sched_yield();
        pthread_kill(id, SIGUSR1);
        pthread_join(id, NULL);
        right = same(pool, 3, 0, room) && same(pool, 4, 1, room);
        /* The pool is lost where its call was: nobody can say whose lock is held. */
    }
    return right;
}

/* ---- Signals ---- */

static pthread_t taker;
static atomic_int handled, elsewhere, stop_taking;

static void handle(int signal)
{
    (void)signal;
    if (!pthread_equal(pthread_self(), taker))
        atomic_fetch_add(&elsewhere, 1);
    atomic_fetch_add(&handled, 1);
}

static void *take(void *argument)
{
    (void)argument;
    while (!atomic_load(&stop_taking))
        sched_yield();
    return NULL;
}

/* Signals to the process, which one thread of the host takes: none runs in a thread of the pool. */
static int signals(int times)
{
    struct ghashgen_pool *pool;
    struct sigaction action = {.sa_handler = handle};
    sigset_t mine;
    int right = 1;
    sigaction(SIGUSR1, &action, NULL);
    pool = pool_of(4, ALWAYS, 0);
    if (pthread_create(&taker, NULL, take, NULL))
        abort();
    sigemptyset(&mine);
    sigaddset(&mine, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &mine, NULL);
    for (int i = 0; right && i < times; i++) {
        kill(getpid(), SIGUSR1);
        right = same(pool, 0, 0, room);
        while (atomic_load(&handled) == 0)
            sched_yield();
    }
    atomic_store(&stop_taking, 1);
    pthread_join(taker, NULL);
    ghashgen_pool_destroy(pool);
    if (atomic_load(&elsewhere)) {
        puts("a handler ran in a thread of the pool");
        return 0;
    }
    return right;
}
#endif

/* ---- Threads that do not start ---- */

#ifdef FAILING_STARTS
int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
static int starts_left = 1 << 30;

int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *attributes, void *(*entry)(void *),
                          void *argument)
{
    return starts_left-- > 0 ? __real_pthread_create(id, attributes, entry, argument) : 11; /* EAGAIN */
}

static unsigned long wakes; /* by callers */
int __real_pthread_cond_broadcast(pthread_cond_t *);
int __wrap_pthread_cond_broadcast(pthread_cond_t *);

int __wrap_pthread_cond_broadcast(pthread_cond_t *condition)
{
    wakes += (unsigned)caller;
    return __real_pthread_cond_broadcast(condition);
}

/* Whether so many messages in a row wake who sleeps. */
static int wake(struct ghashgen_pool *pool, int messages, size_t len)
{
    unsigned long before = wakes;
    for (int i = 0; i < messages; i++)
        if (!same(pool, 0, 0, len))
            abort();
    return wakes != before;
}

/* Threads that sleep are woken for a long message, for many short ones that come fast, and for no
 * other: no message comes within no time of the one before. */
static int waking(void)
{
    enum { CROSSOVER = 4096, SHORT = 9999, LONG = 128 * CROSSOVER };
    const unsigned any_time = 2000000000;
    const struct timespec a_while = {0, 1000000};
    struct ghashgen_pool *pool = pool_of(3, CROSSOVER, 0);
    time_t end = time(NULL) + 200;
    int for_few, for_many = 0, for_long = 0;
    caller = 1;
    for_few = wake(pool, 500, SHORT);
    while (time(NULL) < end && !(for_long && for_many)) {
        ghashgen_pool_limits(pool, CROSSOVER, 0);
        nanosleep(&a_while, NULL);
        for_long |= wake(pool, 1, LONG);
        nanosleep(&a_while, NULL);
        ghashgen_pool_limits(pool, CROSSOVER, any_time);
        for_many |= wake(pool, LONG / SHORT + 1, SHORT);
    }
    ghashgen_pool_limits(pool, CROSSOVER, 0);
    ghashgen_pool_destroy(pool);
    if (for_few || !for_many || !for_long)
        printf("woken for few: %d, for many: %d, for a long one: %d\n", for_few, for_many, for_long);
    return !for_few && for_many && for_long;
}

static unsigned long allocations;
static int memory = 1;

void *__real_calloc(size_t, size_t);
void *__wrap_calloc(size_t, size_t);

void *__wrap_calloc(size_t count, size_t size)
{
    allocations++;
    return memory ? __real_calloc(count, size) : NULL;
}

/* Without memory there is no pool, and calls take none. */
static int memories(void)
{
    struct ghashgen_pool *pool = pool_of(3, ALWAYS, 0);
    unsigned long before = allocations;
    int right = before > 0 && same(pool, 5, 0, room) && allocations == before;
    ghashgen_pool_destroy(pool);
    memory = 0;
    pool = pool_of(3, ALWAYS, 0);
    return right && !pool && same(pool, 5, 0, room);
}

static int failing(void)
{
    int right = 1;
    for (int starts = 0; right && starts < 5; starts++) {
        struct ghashgen_pool *pool;
        unsigned expected = 1 + (unsigned)(starts < 3 ? starts : 3);
        starts_left = starts;
        pool = pool_of(4, ALWAYS, 1000);
        right = ghashgen_pool_threads(pool) == expected && same(pool, 5, 0, room);
        if (!right)
            printf("%u threads of %u\n", ghashgen_pool_threads(pool), expected);
        ghashgen_pool_destroy(pool);
    }
    return right && same(NULL, 5, 0, room) && ghashgen_pool_threads(NULL) == 1;
}
#endif

/* ---- Answers for others to compare ---- */

/* The states of messages from standard input: threads, AAD's length, length; lines of hex. */
static int answer(void)
{
    unsigned threads;
    size_t aad_len, len;
    while (scanf("%u %zu %zu", &threads, &aad_len, &len) == 3) {
        struct ghashgen_pool *pool = pool_of(threads, ALWAYS, 1000);
        uint8_t x[16] = {0};
        if (aad_len > AAD || len > room)
            return 0;
        ghashgen_pool_hash(pool, &key, x, aad, aad_len, message, len);
        for (int i = 0; i < 16; i++)
            printf("%02x", x[i]);
        puts("");
        ghashgen_pool_destroy(pool);
    }
    return 1;
}

static uint64_t number(int argc, char **argv, int i)
{
    return i < argc ? strtoull(argv[i], NULL, 0) : 0;
}

int main(int argc, char **argv)
{
    const char *command = argc > 1 ? argv[1] : "";
    uint64_t a = number(argc, argv, 3), b = number(argc, argv, 4), c = number(argc, argv, 5);
    uint64_t d = number(argc, argv, 6), e = number(argc, argv, 7);
    /* AES-128 of a block of zeros under a key of zeros. */
    static const uint8_t h[16] = {0x66, 0xe9, 0x4b, 0xd4, 0xef, 0x8a, 0x2c, 0x3b,
                                  0x88, 0x4c, 0xfa, 0x59, 0xca, 0x34, 0x2b, 0x2e};
    int right = 0;

    /* AAD and message: multiples of an odd number, high bytes. */
    room = number(argc, argv, 2);
    message = malloc(room + 64);
    for (size_t i = 0; i < AAD; i++)
        aad[i] = (uint8_t)((uint32_t)i * 2654435761u >> 24);
    for (size_t i = 0; i < room + 64; i++)
        message[i] = (uint8_t)((uint32_t)(i + 1000) * 2654435761u >> 24);
    if (!make_key(&key, h))
        return 4;
    if (strcmp(command, "sweep") == 0)
        right = sweep((unsigned)a, b, c, d, (unsigned)e);
    else if (strcmp(command, "random") == 0)
        right = at_random((unsigned)a, (unsigned)b, room, 1 + c);
    else if (strcmp(command, "long-aad") == 0)
        right = long_aad((unsigned)a);
    else if (strcmp(command, "stress") == 0)
        right = stress((unsigned)a, (unsigned)b);
    else if (strcmp(command, "answer") == 0)
        right = answer();
#ifdef REFERENCE
    else if (strcmp(command, "small") == 0)
        right = small((unsigned)a);
    else if (strcmp(command, "help") == 0)
        late = (long)d, right = help((unsigned)a, b, (unsigned)c);
#endif
#ifndef _WIN32
    else if (strcmp(command, "fork") == 0)
        right = forks((unsigned)a);
    else if (strcmp(command, "cancel") == 0)
        right = cancel((unsigned)a);
    else if (strcmp(command, "killed") == 0)
        right = killed((unsigned)a);
    else if (strcmp(command, "signals") == 0)
        right = signals((int)a);
#endif
#ifdef FAILING_STARTS
    else if (strcmp(command, "failing") == 0)
        right = failing();
    else if (strcmp(command, "waking") == 0)
        right = waking();
    else if (strcmp(command, "memory") == 0)
        right = memories();
#endif
    else
        printf("no command %s\n", command);
    ghashgen_pool_key_wipe(&key);
    free(message);
    return !right;
}
