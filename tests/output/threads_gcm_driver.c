/* Messages sealed and opened by a pool, against NAME_seal and NAME_open of the same kernel.
 *
 * sweep LONGEST STEP THREADS SPIN_NS   every STEP-th length, crossover 1 KiB
 * random LONGEST COUNT THREADS SPIN_NS  lengths of each order of magnitude up to LONGEST
 * callers ROUNDS                       several threads share two pools
 * children SPIN_NS                     children of fork, with their parent's pool
 *
 * The kernel is KERNEL. With TOUCHED its text functions read and write every byte in C first, so
 * that a sanitizer sees what a thread takes.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifndef _WIN32
#include <sys/wait.h>
#include <unistd.h>
#endif

#include "ghashgen.h"
#include "ghashgen_threads.h"

#define GLUE_(a, b) a##_##b
#define GLUE(a, b) GLUE_(a, b)
#define NAME(function) GLUE(KERNEL, function)
#define POOL_GCM(name) GHASHGEN_POOL_GCM(name)

enum { CTX = 1 << 14, MOST = 1 << 16, CROSSOVER = 1024, CALLERS = 4 };

struct pool_key_of_a_kernel {
    _Alignas(64) unsigned char ctx[CTX];
    struct ghashgen_pool_gcm_key key;
};

static struct pool_key_of_a_kernel one;

#ifdef TOUCHED
static void touch(const uint8_t *in, uint8_t *out, size_t len)
{
    for (size_t i = 0; i < len; i++)
        out[i] = in[i];
}

static void encrypt(const void *ctx, uint8_t counter[16], uint8_t x[16], const uint8_t *in,
                    uint8_t *out, size_t len)
{
    touch(in, out, len);
    NAME(encrypt)(ctx, counter, x, out, out, len);
}

static void decrypt(const void *ctx, uint8_t counter[16], uint8_t x[16], const uint8_t *in,
                    uint8_t *out, size_t len)
{
    touch(in, out, len);
    NAME(decrypt)(ctx, counter, x, out, out, len);
}
#endif

/* Also for who loads this as a library. */
void make_gcm_key(struct ghashgen_pool_gcm_key *key, const void *ctx)
{
    struct ghashgen_pool_gcm_kernel kernel = POOL_GCM(KERNEL);
#ifdef TOUCHED
    kernel.encrypt = encrypt;
    kernel.decrypt = decrypt;
#endif
    ghashgen_pool_gcm_key_init(key, &kernel, ctx);
}

static void make_key(void)
{
    static const uint8_t key[32] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};
    NAME(init)(one.ctx, key);
    make_gcm_key(&one.key, one.ctx);
}

struct message {
    uint8_t iv[320], aad[320], tag[16], right[16];
    uint8_t *text, *wanted, *out;
};

/* Room for texts of so many bytes. */
static struct message *message_of(size_t most)
{
    struct message *m = calloc(1, sizeof *m + 3 * most);
    if (!m)
        abort();
    m->text = (uint8_t *)(m + 1);
    m->wanted = m->text + most;
    m->out = m->wanted + most;
    return m;
}

/* What open returns of m->tag, with the text in m->out. */
static int opened(struct ghashgen_pool *pool, struct message *m, size_t iv_len, size_t aad_len,
                  size_t len, int in_place)
{
    memset(m->out, 0x5a, len);
    if (in_place)
        memcpy(m->out, m->wanted, len);
    return ghashgen_pool_open(pool, &one.key, m->iv, iv_len, m->aad, aad_len,
                              in_place ? m->out : m->wanted, len, m->out, m->tag, 16);
}

/* Whether a message is sealed and opened as by one call of the kernel, and a forgery is not. */
static int is_right(struct ghashgen_pool *pool, struct message *m, size_t iv_len, size_t aad_len,
                    size_t len, unsigned seed)
{
    size_t bit = seed % 5 ? seed * 2654435761u % 128 : 127;
    int in_place = seed & 1;
    for (size_t i = 0; i < len; i++)
        m->text[i] = (uint8_t)((i + seed) * 2654435761u >> 24);
    for (size_t i = 0; i < aad_len; i++)
        m->aad[i] = (uint8_t)(i * seed);
    for (size_t i = 0; i < iv_len; i++)
        m->iv[i] = (uint8_t)(i + seed);
    NAME(seal)(one.ctx, m->iv, iv_len, m->aad, aad_len, m->text, len, m->wanted, m->right);
    if (in_place)
        memcpy(m->out, m->text, len);
    if (ghashgen_pool_seal(pool, &one.key, m->iv, iv_len, m->aad, aad_len,
                           in_place ? m->out : m->text, len, m->out, m->tag) ||
        memcmp(m->out, m->wanted, len) || memcmp(m->tag, m->right, 16))
        return 0;
    if (opened(pool, m, iv_len, aad_len, len, in_place) || memcmp(m->out, m->text, len))
        return 0;
    m->tag[bit / 8] ^= (uint8_t)(1u << bit % 8);
    if (opened(pool, m, iv_len, aad_len, len, in_place) != 1)
        return 0;
    for (size_t i = 0; i < len; i++)
        if (m->out[i])
            return 0;
    return 1;
}

/* Whether a message of these lengths is right; says which is not. */
static int is_right_of(struct ghashgen_pool *pool, struct message *m, size_t len, unsigned seed)
{
    size_t iv_len = seed % 4 ? 12 : 1 + seed % 300, aad_len = seed * 37 % 301;
    if (is_right(pool, m, iv_len, aad_len, len, seed))
        return 1;
    printf("%zu bytes, %zu of AAD, an IV of %zu\n", len, aad_len, iv_len);
    return 0;
}

static int at_random(size_t longest, unsigned count, unsigned threads, unsigned spin)
{
    struct ghashgen_pool *pool = ghashgen_pool_create(threads);
    struct message *m = message_of(longest);
    uint64_t random = 88172645463325252u + threads;
    int bad = 0;
    ghashgen_pool_limits(pool, CROSSOVER, spin);
    for (unsigned i = 0; i < count && !bad; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        bad = !is_right_of(pool, m, (random >> 20) % ((longest >> i % 12) + 1),
                           (unsigned)(random >> 40));
    }
    ghashgen_pool_destroy(pool);
    free(m);
    return bad;
}

static int sweep(size_t longest, size_t step, unsigned threads, unsigned spin)
{
    struct ghashgen_pool *pool = ghashgen_pool_create(threads);
    struct message *m = message_of(longest);
    int bad = 0;
    unsigned seed = threads;
    /* With 0 every message is cut and wakes who sleeps. */
    ghashgen_pool_limits(pool, threads % 2 ? 0 : CROSSOVER, spin);
    for (size_t len = 0; len <= longest && !bad; len += step, seed++)
        bad = !is_right_of(pool, m, len, seed);
    ghashgen_pool_destroy(pool);
    free(m);
    return bad;
}

static struct ghashgen_pool *pools[2];
static int rounds;

static void *call(void *argument)
{
    unsigned number = *(unsigned *)argument;
    struct message *m = message_of(MOST);
    int right = 1;
    for (int i = 0; i < rounds && right; i++)
        right = is_right(pools[(unsigned)i % 2], m, 12, (size_t)i % 300,
                         1500u * (unsigned)i % 50000, number + 7u * (unsigned)i);
    free(m);
    return right ? NULL : argument;
}

static int callers(void)
{
    pthread_t ids[CALLERS];
    unsigned numbers[CALLERS];
    int bad = 0;
    for (unsigned i = 0; i < 2; i++) {
        pools[i] = ghashgen_pool_create(3);
        ghashgen_pool_limits(pools[i], i ? CROSSOVER : 0, 1000);
    }
    for (unsigned i = 0; i < CALLERS; i++) {
        numbers[i] = i;
        if (pthread_create(&ids[i], NULL, call, &numbers[i]))
            return 2;
    }
    for (unsigned i = 0; i < CALLERS; i++) {
        void *result;
        pthread_join(ids[i], &result);
        bad |= result != NULL;
    }
    for (unsigned i = 0; i < 2; i++)
        ghashgen_pool_destroy(pools[i]);
    return bad;
}

#ifndef _WIN32
/* Children of fork, where nobody but the caller takes pieces, and their parent's pool after them. */
static int children(unsigned spin)
{
    struct ghashgen_pool *pool = ghashgen_pool_create(3);
    struct message *m = message_of(MOST);
    int bad = 0;
    ghashgen_pool_limits(pool, CROSSOVER, spin);
    for (unsigned i = 0; i < 20 && !bad; i++) {
        int status = 0;
        pid_t child;
        bad = !is_right(pool, m, 12, 20, 40000 + i, i);
        child = fork();
        if (child == 0) {
            alarm(60);
            _exit(!is_right(pool, m, 12, 20, 50000 + i, i));
        }
        bad |= child < 0 || waitpid(child, &status, 0) != child || status != 0;
    }
    ghashgen_pool_destroy(pool);
    free(m);
    return bad;
}
#endif

int main(int argc, char **argv)
{
    make_key();
#ifndef _WIN32
    if (argc == 3 && !strcmp(argv[1], "children"))
        return children((unsigned)strtoul(argv[2], NULL, 10));
#endif
    if (argc == 6 && !strcmp(argv[1], "random"))
        return at_random(strtoull(argv[2], NULL, 10), (unsigned)strtoul(argv[3], NULL, 10),
                         (unsigned)strtoul(argv[4], NULL, 10),
                         (unsigned)strtoul(argv[5], NULL, 10));
    if (argc == 6 && !strcmp(argv[1], "sweep"))
        return sweep(strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10),
                     (unsigned)strtoul(argv[4], NULL, 10), (unsigned)strtoul(argv[5], NULL, 10));
    if (argc == 3 && !strcmp(argv[1], "callers")) {
        rounds = atoi(argv[2]);
        return callers();
    }
    return 2;
}
