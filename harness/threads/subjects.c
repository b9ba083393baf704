/* Kernels with their keys: a hash subkey, or a key of AES-128. */
#include "threads.h"

#include <stdlib.h>

#include "../bench/clock.h"
#include "../ghash.h"
#include "../reference.h"

#define CROSSOVER_NS 500 /* with which a pool gains; below, it loses as far as the table says */

const uint8_t threads_h[16] = {0x66, 0xe9, 0x4b, 0xd4, 0xef, 0x8a, 0x2c, 0x3b,
                               0x88, 0x4c, 0xfa, 0x59, 0xca, 0x34, 0x2b, 0x2e};
const uint8_t threads_iv[12] = {0xca, 0xfe, 0xba, 0xbe, 0xfa, 0xce};
const uint8_t threads_aad[AAD_BYTES] = {0, 0, 0, 0, 0, 0, 0, 1, 23, 3, 3};

static struct subject subjects[MOST_VARIANTS];
static size_t subject_count;

/* C has no combine: its table of p is made in the call. */
static void combine_portable(uint8_t x[16], const uint8_t y[16], const uint8_t p[16])
{
    uint64_t P[6];
    ref_ctmul64_init(P, p);
    ref_ctmul64_mul(P, x);
    for (int i = 0; i < 16; i++)
        x[i] ^= y[i];
}

#define FUNCTION(type, k, name) ((type *)kernel_function(k, name))

static void key_of_a_hash(struct subject *s)
{
    const struct ghash functions = ghash_of(s->kernel);
    ((native_init *)functions.init)(s->table, threads_h);
    ghashgen_pool_key_init(&s->hash, (ghashgen_update *)functions.update,
                           functions.combine ? (ghashgen_combine_with *)functions.combine
                                             : combine_portable,
                           s->table, threads_h);
}

typedef int seal_function(const void *, const uint8_t *, size_t, const uint8_t *, size_t,
                          const uint8_t *, size_t, uint8_t *, uint8_t *);
typedef int open_function(const void *, const uint8_t *, size_t, const uint8_t *, size_t,
                          const uint8_t *, size_t, uint8_t *, const uint8_t *, size_t);
typedef void text_function(const void *, uint8_t *, uint8_t *, const uint8_t *, uint8_t *, size_t);
typedef void power_function(const void *, uint8_t *, uint64_t);

static void key_of_texts(struct subject *s)
{
    static const uint8_t zeros[16];
    const struct ghashgen_kernel *k = s->kernel;
    const struct ghashgen_pool_gcm_kernel kernel = {
        .seal = FUNCTION(seal_function, k, "seal"),
        .open = FUNCTION(open_function, k, "open"),
        .encrypt = FUNCTION(text_function, k, "encrypt"),
        .decrypt = FUNCTION(text_function, k, "decrypt"),
        .hash = FUNCTION(ghashgen_update, k, "hash"),
        .power = FUNCTION(power_function, k, "power"),
        .combine = FUNCTION(ghashgen_combine_with, k, "combine"),
    };
    FUNCTION(native_init, k, "init")(s->table, zeros);
    ghashgen_pool_gcm_key_init(&s->gcm, &kernel, s->table);
}

static void work(const struct subject *s, const uint8_t *in, uint8_t *out, size_t len)
{
    uint8_t x[16] = {0};
    if (s->kernel->key_bits)
        s->gcm.kernel.seal(s->table, threads_iv, sizeof threads_iv, threads_aad, AAD_BYTES, in, len,
                           out, x);
    else
        s->hash.update(s->table, x, in, len);
}

/* Bytes that a kernel does in CROSSOVER_NS. */
static size_t crossover_for(const struct subject *s)
{
    static const uint8_t in[1 << 12];
    static uint8_t out[sizeof in];
    double shortest = 1;
    for (int i = 0; i < 50; i++) {
        double time = clock_seconds();
        work(s, in, out, sizeof in);
        time = clock_seconds() - time;
        shortest = time < shortest ? time : shortest;
    }
    return (size_t)(sizeof in * CROSSOVER_NS * 1e-9 / (shortest + 1e-9));
}

struct subject *subject_of(const struct ghashgen_kernel *k)
{
    struct subject *s;
    for (size_t i = 0; i < subject_count; i++)
        if (subjects[i].kernel == k)
            return &subjects[i];
    if (k->table_bytes > TABLE || (k->key_bits && k->key_bits != 128) ||
        (k->key_bits && !kernel_function(k, "combine")))
        return NULL;
    s = &subjects[subject_count++];
    s->kernel = k;
    if (k->key_bits)
        key_of_texts(s);
    else
        key_of_a_hash(s);
    s->crossover = crossover_for(s);
    return s;
}
