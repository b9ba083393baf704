/* Ways to hash, seal and open a message: alone, in threads started for it, by a pool. */
#include "threads.h"

/* The emitted runtime; its own functions are measured too. */
#include "ghashgen_threads.c"

#include <stdio.h>

#include "../ghash.h"

static void one(const struct variant *v, uint8_t x[16], const struct message *m)
{
    v->subject->hash.update(v->subject->hash.table, x, m->in, m->len);
}

static void pool(const struct variant *v, uint8_t x[16], const struct message *m)
{
    ghashgen_pool_hash(v->pool, &v->subject->hash, x, NULL, 0, m->in, m->len);
}

/* As many columns as threads: the kernel has that many. */
static void interleaved(const struct variant *v, uint8_t x[16], const struct message *m)
{
    const struct ghashgen_pool_columns columns = {
        (ghashgen_update *)kernel_function(v->subject->kernel, "column"), v->subject->columns,
        v->threads};
    ghashgen_pool_hash_interleaved(v->pool, &v->subject->hash, &columns, x, m->in, m->len);
}

struct piece {
    const struct ghashgen_pool_key *key;
    const uint8_t *in;
    size_t len;
    uint8_t y[16];
    pthread_t id;
};

static void *hash_piece_alone(void *argument)
{
    struct piece *p = argument;
    p->key->update(p->key->table, p->y, p->in, p->len);
    return NULL;
}

/* A thread for each piece, started in the call and joined: the paper's Algorithm 1. */
static void spawn(const struct variant *v, uint8_t x[16], const struct message *m)
{
    const struct ghashgen_pool_key *key = &v->subject->hash;
    size_t blocks = m->len / BLOCK + (m->len % BLOCK != 0);
    size_t groups = blocks / GHASHGEN_POOL_GROUP / v->threads, at = 0;
    struct piece pieces[THREADS];
    uint8_t p[16];
    if (!groups) {
        one(v, x, m);
        return;
    }
    for (unsigned i = 0; i < v->threads; i++) {
        size_t rest = (v->threads - 1 - i) * groups * GHASHGEN_POOL_GROUP;
        size_t end = rest ? (blocks - rest) * BLOCK : m->len;
        pieces[i] = (struct piece){.key = key, .in = m->in + at, .len = end - at};
        if (i == 0)
            memcpy(pieces[i].y, x, 16);
        at = end;
        if (pthread_create(&pieces[i].id, NULL, hash_piece_alone, &pieces[i]))
            abort();
    }
    power(key, p, groups);
    for (unsigned i = 0; i < v->threads; i++) {
        pthread_join(pieces[i].id, NULL);
        if (i == 0)
            memcpy(x, pieces[i].y, 16);
        else
            key->combine(x, pieces[i].y, p);
    }
}

size_t half(size_t len)
{
    size_t groups = len / BLOCK / GHASHGEN_POOL_GROUP / 2, unit = 1;
    while (groups / unit >= 16 * 16 * 16)
        unit *= 16;
    return groups - groups % unit ? groups - groups % unit : 1;
}

/* H^m for half a message, by what the key holds. */
static void digits(const struct variant *v, uint8_t x[16], const struct message *m)
{
    power(&v->subject->hash, x, half(m->len));
}

typedef void native_power(const void *, uint8_t *, uint64_t);

/* The same, one bit a turn. */
static void bits(const struct variant *v, uint8_t x[16], const struct message *m)
{
    ((native_power *)kernel_function(v->subject->kernel, "power"))(
        v->subject->table, x, half(m->len) * GHASHGEN_POOL_GROUP);
}

void subject_columns(struct subject *s, unsigned count)
{
    uint8_t y[16];
    ((native_power *)kernel_function(s->kernel, "power"))(s->table, y, count);
    ((native_init *)kernel_function(s->kernel, "init"))(s->columns, y);
}

/* ---- Texts ---- */

static void seal(const struct variant *v, uint8_t x[16], const struct message *m)
{
    const struct ghashgen_pool_gcm_key *key = &v->subject->gcm;
    key->kernel.seal(v->subject->table, threads_iv, sizeof threads_iv, threads_aad, AAD_BYTES,
                     m->in, m->len, m->out, x);
}

static void open(const struct variant *v, uint8_t x[16], const struct message *m)
{
    const struct ghashgen_pool_gcm_key *key = &v->subject->gcm;
    if (key->kernel.open(v->subject->table, threads_iv, sizeof threads_iv, threads_aad, AAD_BYTES,
                         m->sealed, m->len, m->out, m->tag, 16) == 0)
        memcpy(x, m->tag, 16);
}

static void pool_seal(const struct variant *v, uint8_t x[16], const struct message *m)
{
    ghashgen_pool_seal(v->pool, &v->subject->gcm, threads_iv, sizeof threads_iv, threads_aad,
                       AAD_BYTES, m->in, m->len, m->out, x);
}

static void pool_open(const struct variant *v, uint8_t x[16], const struct message *m)
{
    if (ghashgen_pool_open(v->pool, &v->subject->gcm, threads_iv, sizeof threads_iv, threads_aad,
                           AAD_BYTES, m->sealed, m->len, m->out, m->tag, 16) == 0)
        memcpy(x, m->tag, 16);
}

const struct way *way_find(const char *name)
{
    static const struct way ways[] = {
        {"one", one, HASH, 0, 0, "update"},
        {"spawn", spawn, HASH, 0, 0, "update"},
        {"pool", pool, HASH, 1, GHASHGEN_POOL_SPIN_NS, "update"},
        {"interleaved", interleaved, HASH, 1, GHASHGEN_POOL_SPIN_NS, "column"},
        {"sleeping", pool, HASH, 1, 0, "update"},
        {"digits", digits, POWER, 0, 0, "update"},
        {"bits", bits, POWER, 0, 0, "power"},
        {"seal", seal, SEALED, 0, 0, "seal"},
        {"seal-sleeping", pool_seal, SEALED, 1, 0, "seal"},
        {"seal-pool", pool_seal, SEALED, 1, GHASHGEN_POOL_SPIN_NS, "seal"},
        {"open", open, OPENED, 0, 0, "open"},
        {"open-sleeping", pool_open, OPENED, 1, 0, "open"},
        {"open-pool", pool_open, OPENED, 1, GHASHGEN_POOL_SPIN_NS, "open"},
    };
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        if (strcmp(ways[i].name, name) == 0)
            return &ways[i];
    return NULL;
}
