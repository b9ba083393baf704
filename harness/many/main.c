/*
 * Bursts of messages under one key: NAME_seal_many and NAME_open_many beside NAME_seal and NAME_open
 * in a loop, and beside Intel's multi-buffer library by its direct, job and burst interfaces.
 *
 *     cc -O2 -DNAME=gcm128_avx512_k_clmul1_x32_short_groups main.c kernel.o -lIPSec_MB -o many
 *     ./many [core]
 *
 * The library takes the widest instruction set of the CPU; with -DMANAGER=init_mb_mgr_sse or
 * init_mb_mgr_avx2 it takes another. With -D'FAST(what)=aes_gcm_##what##_128_vaes_avx512' and the
 * archive of a build without the options SAFE, that build's direct functions take part too, as
 * "fast". Where their names are also the library's, objcopy --prefix-symbols gives them others.
 *
 * Each message lies in packets of its own, scattered as a network stack's. Cycles per message are of the
 * core, measured beside a chain of additions; the ways take turns, and the lower quartile counts.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <intel-ipsec-mb.h>

#ifndef KEY_BITS
#define KEY_BITS 128
#endif
#define JOINED(a, b) a##b
#define JOIN(a, b) JOINED(a, b)
#define OURS(function) JOIN(NAME, function)
#define THEIRS(end) JOIN(JOIN(IMB_AES, KEY_BITS), end)

struct ghashgen_message {
    const uint8_t *iv, *aad, *in;
    uint8_t *out, *tag;
    uint64_t len, aad_len, iv_len, tag_len, status;
};
void OURS(_init)(void *ctx, const uint8_t *key);
int OURS(_seal)(const void *ctx, const uint8_t *iv, size_t iv_len, const uint8_t *aad,
                size_t aad_len, const uint8_t *in, size_t len, uint8_t *out, uint8_t *tag);
int OURS(_open)(const void *ctx, const uint8_t *iv, size_t iv_len, const uint8_t *aad,
                size_t aad_len, const uint8_t *in, size_t len, uint8_t *out, const uint8_t *tag,
                size_t tag_len);
void OURS(_seal_many)(const void *ctx, struct ghashgen_message *messages, size_t count);
void OURS(_open_many)(const void *ctx, struct ghashgen_message *messages, size_t count);

enum { BURST = 32, SAMPLES = 81, ROOM = 4096, WAYS = 6, AAD = 12, TAG = 16 };

static uint8_t ctx[16384] __attribute__((aligned(64)));
static struct gcm_key_data key_data __attribute__((aligned(64)));
static struct gcm_context_data context_data;
static IMB_MGR *manager;
static struct ghashgen_message plain[BURST], sealed[BURST], *now;
static int seals;

static void many(void)
{
    (seals ? OURS(_seal_many) : OURS(_open_many))(ctx, now, BURST);
}

static void loop(void)
{
    for (struct ghashgen_message *m = now; m < now + BURST; m++)
        if (seals)
            OURS(_seal)(ctx, m->iv, 12, m->aad, AAD, m->in, m->len, m->out, m->tag);
        else
            OURS(_open)(ctx, m->iv, 12, m->aad, AAD, m->in, m->len, m->out, m->tag, TAG);
}

static void direct(void)
{
    uint8_t found[TAG];
    for (struct ghashgen_message *m = now; m < now + BURST; m++)
        if (seals) {
            THEIRS(_GCM_ENC)(manager, &key_data, &context_data, m->out, m->in, m->len, m->iv, m->aad,
                             AAD, m->tag, TAG);
        } else {
            THEIRS(_GCM_DEC)(manager, &key_data, &context_data, m->out, m->in, m->len, m->iv, m->aad,
                             AAD, found, TAG);
            m->status = memcmp(found, m->tag, TAG) != 0;
        }
}

#ifdef FAST
typedef void message_function(const void *key, void *context, uint8_t *out, const uint8_t *in,
                              uint64_t len, const uint8_t *iv, const uint8_t *aad,
                              uint64_t aad_len, uint8_t *tag, uint64_t tag_len);
void FAST(pre)(const void *key, void *data);
message_function FAST(enc), FAST(dec);
static uint8_t fast_key[16384] __attribute__((aligned(64)));

static void fast(void)
{
    uint8_t found[TAG];
    for (struct ghashgen_message *m = now; m < now + BURST; m++) {
        message_function *run = seals ? FAST(enc) : FAST(dec);
        run(fast_key, &context_data, m->out, m->in, m->len, m->iv, m->aad, AAD,
            seals ? m->tag : found, TAG);
        m->status = !seals && memcmp(found, m->tag, TAG) != 0;
    }
}
#else
#define fast direct
#endif

static void fill(IMB_JOB *job, const struct ghashgen_message *m, uint8_t *found)
{
    job->cipher_mode = IMB_CIPHER_GCM;
    job->hash_alg = IMB_AUTH_AES_GMAC;
    job->cipher_direction = seals ? IMB_DIR_ENCRYPT : IMB_DIR_DECRYPT;
    job->chain_order = seals ? IMB_ORDER_CIPHER_HASH : IMB_ORDER_HASH_CIPHER;
    job->enc_keys = job->dec_keys = &key_data;
    job->key_len_in_bytes = KEY_BITS / 8;
    job->iv = m->iv;
    job->iv_len_in_bytes = 12;
    job->u.GCM.aad = m->aad;
    job->u.GCM.aad_len_in_bytes = AAD;
    job->src = m->in;
    job->dst = m->out;
    job->cipher_start_src_offset_in_bytes = job->hash_start_src_offset_in_bytes = 0;
    job->msg_len_to_cipher_in_bytes = job->msg_len_to_hash_in_bytes = m->len;
    job->auth_tag_output = seals ? m->tag : found;
    job->auth_tag_output_len_in_bytes = TAG;
}

static void jobs(void)
{
    static uint8_t found[BURST][TAG];
    for (int i = 0; i < BURST; i++) {
        fill(IMB_GET_NEXT_JOB(manager), &now[i], found[i]);
        IMB_SUBMIT_JOB(manager);
    }
    while (IMB_FLUSH_JOB(manager))
        ;
    for (int i = 0; i < BURST && !seals; i++)
        now[i].status = memcmp(found[i], now[i].tag, TAG) != 0;
}

static void bursts(void)
{
    static uint8_t found[BURST][TAG];
    IMB_JOB *given[BURST];
    for (uint32_t done = 0; done < BURST;) {
        const uint32_t count = IMB_GET_NEXT_BURST(manager, BURST - done, given);
        for (uint32_t i = 0; i < count; i++)
            fill(given[i], &now[done + i], found[done + i]);
        IMB_SUBMIT_BURST(manager, count, given);
        done += count;
    }
    for (int i = 0; i < BURST && !seals; i++)
        now[i].status = memcmp(found[i], now[i].tag, TAG) != 0;
}

static const struct {
    const char *name;
    void (*run)(void);
} ways[WAYS] = {
    {"many", many}, {"loop", loop}, {"ipsec-mb", direct}, {"jobs", jobs}, {"burst", bursts}, {"fast", fast}};

static uint64_t ticks(void)
{
    uint32_t low, high;
    __asm__ volatile("lfence; rdtsc; lfence" : "=a"(low), "=d"(high)::"memory");
    return (uint64_t)high << 32 | low;
}

/* Core cycles in a tick, by 10000 additions of which each waits for the one before. */
static double cycles_per_tick(void)
{
    uint64_t x = 1, n = 100, begin = ticks();
    __asm__ volatile("1: .rept 100; add %1, %0; .endr; dec %1; jnz 1b" : "+r"(x), "+r"(n)::"cc");
    return 10000.0 / (double)(ticks() - begin);
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(size_t len)
{
    static double found[WAYS][SAMPLES];
    const int repeats = (int)(2000 / (40 + len)) + 2;
    for (int s = 0; s < SAMPLES; s++)
        for (int w = 0; w < WAYS; w++) {
            ways[w].run();
            const double before = cycles_per_tick();
            const uint64_t begin = ticks();
            for (int r = 0; r < repeats; r++)
                ways[w].run();
            const double took = (double)(ticks() - begin), after = cycles_per_tick();
            found[w][s] = took * (before > after ? before : after) / (repeats * BURST);
        }
    printf("%s,%zu", seals ? "seal" : "open", len);
    for (int w = 0; w < WAYS; w++) {
        qsort(found[w], SAMPLES, sizeof found[w][0], ascending);
        printf(",%.1f", found[w][SAMPLES / 4]);
    }
    putchar('\n');
}

/* Room for a packet, at any line of a page of its own. */
static uint8_t *packet(void)
{
    static uint8_t *next, *end;
    if (next == NULL || next + ROOM > end) {
        next = aligned_alloc(4096, 1 << 22);
        if (next == NULL)
            abort();
        end = next + (1 << 22);
        for (uint8_t *p = next; p < end; p++)
            *p = (uint8_t)rand();
    }
    uint8_t *at = next + (size_t)(rand() % 38) * 64;
    next += ROOM;
    return at;
}

int main(int count, char **arguments)
{
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(count > 1 ? atoi(arguments[1]) : 0, &cores);
    sched_setaffinity(0, sizeof cores, &cores);
    uint8_t key[32];
    for (int i = 0; i < 32; i++)
        key[i] = (uint8_t)(3 * i + 1);
    manager = alloc_mb_mgr(0);
#ifdef MANAGER
    MANAGER(manager);
#else
    init_mb_mgr_auto(manager, NULL);
#endif
    THEIRS(_GCM_PRE)(manager, key, &key_data);
#ifdef FAST
    FAST(pre)(key, fast_key);
#endif
    OURS(_init)(ctx, key);
    static const size_t sizes[] = {16, 64, 128, 256, 512, 1024, 1500};
    printf("operation,bytes");
    for (int w = 0; w < WAYS; w++)
        printf(",%s", ways[w].name);
    putchar('\n');
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        for (int i = 0; i < BURST; i++) {
            /* Header and IV stand before the text, the tag behind it. */
            uint8_t *in = packet() + 38, *out = packet() + 38, *back = packet() + 38;
            plain[i] = (struct ghashgen_message){in - 12, in - 24, in, out, out + sizes[k], sizes[k],
                                                 AAD, 12, TAG, 9};
            sealed[i] = plain[i];
            sealed[i].in = out;
            sealed[i].out = back;
        }
        now = plain;
        seals = 1;
        measure(sizes[k]);
        many();
        now = sealed;
        seals = 0;
        for (int w = 0; w < WAYS; w++) {
            ways[w].run();
            for (int i = 0; i < BURST; i++)
                if (memcmp(sealed[i].out, plain[i].in, sizes[k]) != 0 || (w != 1 && sealed[i].status))
                    return fprintf(stderr, "%s is wrong\n", ways[w].name), 1;
        }
        measure(sizes[k]);
    }
    return 0;
}
