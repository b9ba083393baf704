/*
 * OpenSSL's stitched AES-GCM by its internal entry points (crypto/modes/asm/aesni-gcm-x86_64.pl,
 * crypto/aes/asm/aesni-x86_64.pl, ghash-x86_64.pl), taken out of the static library, with the least that
 * a message needs around them: the stitched part first, then counter mode and hash for the rest. A
 * second subject has no stitched part: counter mode, then the hash.
 */
#include "../cpu.h"
#include "../reference.h"
#include "gcm_judge.h"
#include "gcm_loops.h"
#include "way_openssl.h"

int aesni_set_encrypt_key(const uint8_t *key, int bits, void *schedule);
void aesni_encrypt(const uint8_t *in, uint8_t *out, const void *schedule);
void aesni_ctr32_encrypt_blocks(const uint8_t *in, uint8_t *out, size_t blocks,
                                const void *schedule, const uint8_t counter[16]);
/* State, H and table lie in a row; both return the bytes processed and advance the counter. */
size_t aesni_gcm_encrypt(const uint8_t *in, uint8_t *out, size_t len, const void *schedule,
                         uint8_t counter[16], void *state);
size_t aesni_gcm_decrypt(const uint8_t *in, uint8_t *out, size_t len, const void *schedule,
                         uint8_t counter[16], void *state);
openssl_init gcm_init_avx;
openssl_ghash gcm_ghash_avx;

struct stitched {
    uint8_t schedule[256]; /* round keys, and their number at byte 240 */
    uint8_t x[16], h[16];
    struct block table[16];
};

static void set_key(const struct bench_subject *s, void *table, const uint8_t *key)
{
    struct stitched *c = table;
    uint8_t h[16] = {0};
    aesni_set_encrypt_key(key, (int)s->key_bits, c->schedule);
    aesni_encrypt(h, h, c->schedule);
    openssl_fill_table((kernel_entry)gcm_init_avx, c->table, h);
}

static inline void hash(struct stitched *c, const uint8_t *in, size_t len)
{
    openssl_hash((kernel_entry)gcm_ghash_avx, c->table, c->x, in, len);
}

static inline void skip(uint8_t counter[16], size_t blocks)
{
    uint32_t count;
    memcpy(&count, counter + 12, 4);
    count = __builtin_bswap32(__builtin_bswap32(count) + (uint32_t)blocks);
    memcpy(counter + 12, &count, 4);
}

/* The rest after the stitched part, without the hash: whole blocks, then a partial one. */
static inline void rest(const struct stitched *c, uint8_t counter[16], const uint8_t *in,
                        size_t len, uint8_t *out)
{
    if (len >= 16) {
        aesni_ctr32_encrypt_blocks(in, out, len / 16, c->schedule, counter);
        skip(counter, len / 16);
    }
    if (len % 16) {
        uint8_t last[16] = {0};
        memcpy(last, in + len - len % 16, len % 16);
        aesni_ctr32_encrypt_blocks(last, last, 1, c->schedule, counter);
        memcpy(out + len - len % 16, last, len % 16);
    }
}

static inline void encrypt(struct stitched *c, uint8_t counter[16], const uint8_t *in, size_t len,
                           uint8_t *out, int stitches)
{
    size_t done = stitches ? aesni_gcm_encrypt(in, out, len, c->schedule, counter, c->x) : 0;
    rest(c, counter, in + done, len - done, out + done);
    hash(c, out + done, len - done);
}

static inline void decrypt(struct stitched *c, uint8_t counter[16], const uint8_t *in, size_t len,
                           uint8_t *out, int stitches)
{
    size_t done = stitches ? aesni_gcm_decrypt(in, out, len, c->schedule, counter, c->x) : 0;
    hash(c, in + done, len - done);
    rest(c, counter, in + done, len - done, out + done);
}

/* Begins a message: the mask of its tag, the counter block of its text, the hash of its AAD. */
static inline void start(struct stitched *c, const uint8_t *iv, const uint8_t *aad,
                         size_t aad_len, uint8_t mask[16], uint8_t counter[16])
{
    memcpy(counter, iv, 12);
    memcpy(counter + 12, (const uint8_t[4]){0, 0, 0, 1}, 4);
    aesni_encrypt(counter, mask, c->schedule);
    counter[15] = 2;
    memset(c->x, 0, 16);
    hash(c, aad, aad_len);
}

static inline void finish(struct stitched *c, const uint8_t mask[16], size_t aad_len, size_t len,
                          uint8_t tag[16])
{
    uint8_t lengths[16];
    gcm_lengths(lengths, aad_len, len);
    hash(c, lengths, 16);
    for (int i = 0; i < 16; i++)
        tag[i] = c->x[i] ^ mask[i];
}

static inline void seal(void *table, const uint8_t *iv, const uint8_t *in, size_t len,
                        const uint8_t *aad, size_t aad_len, uint8_t *out, uint8_t *tag,
                        int stitches)
{
    uint8_t mask[16], counter[16];
    start(table, iv, aad, aad_len, mask, counter);
    encrypt(table, counter, in, len, out, stitches);
    finish(table, mask, aad_len, len, tag);
}

static inline int unseal(void *table, const uint8_t *iv, const uint8_t *in, size_t len,
                         const uint8_t *aad, size_t aad_len, uint8_t *out, const uint8_t *tag,
                         int stitches)
{
    uint8_t mask[16], counter[16], wanted[16];
    start(table, iv, aad, aad_len, mask, counter);
    decrypt(table, counter, in, len, out, stitches);
    finish(table, mask, aad_len, len, wanted);
    return bench_same_tag(wanted, tag);
}

static inline void text(void *table, const uint8_t *counter, uint8_t *x, const uint8_t *in,
                        size_t len, uint8_t *out, int stitches)
{
    struct stitched *c = table;
    uint8_t own[16];
    memcpy(own, counter, 16);
    memcpy(c->x, x, 16);
    encrypt(c, own, in, len, out, stitches);
    memcpy(x, c->x, 16);
}

#define SEAL(s, table, iv, in, len, aad, aad_len, out, tag)                                        \
    seal(table, iv, in, len, aad, aad_len, out, tag, 1)
#define OPEN(s, table, iv, in, len, aad, aad_len, out, tag)                                        \
    unseal(table, iv, in, len, aad, aad_len, out, tag, 1)
#define TEXT(s, table, counter, x, in, len, out) text(table, counter, x, in, len, out, 1)
#define SEAL_APART(s, table, iv, in, len, aad, aad_len, out, tag)                                  \
    seal(table, iv, in, len, aad, aad_len, out, tag, 0)
#define OPEN_APART(s, table, iv, in, len, aad, aad_len, out, tag)                                  \
    unseal(table, iv, in, len, aad, aad_len, out, tag, 0)
#define TEXT_APART(s, table, counter, x, in, len, out) text(table, counter, x, in, len, out, 0)

BENCH_KEY_LOOPS(stitched, set_key, set_key)
BENCH_MESSAGE_LOOPS(stitched, SEAL, OPEN)
BENCH_TEXT_LOOPS(stitched, TEXT)
BENCH_MESSAGE_LOOPS(apart, SEAL_APART, OPEN_APART)
BENCH_TEXT_LOOPS(apart, TEXT_APART)

static size_t open_stitched(struct bench_subject *subjects, size_t room)
{
    static const struct bench_subject found[] = {
        {.name = "openssl_stitched_128", .key_bits = 128},
        {.name = "openssl_stitched_192", .key_bits = 192},
        {.name = "openssl_stitched_256", .key_bits = 256},
        {.name = "openssl_apart_128", .key_bits = 128},
        {.name = "openssl_apart_192", .key_bits = 192},
        {.name = "openssl_apart_256", .key_bits = 256},
    };
    size_t count = sizeof found / sizeof found[0];
    if (count > room)
        return 0;
    openssl_capabilities();
    for (size_t i = 0; i < count; i++) {
        subjects[i] = found[i];
        subjects[i].kind = "peer";
        subjects[i].needs = CPU_AVX2 | CPU_AESNI | CPU_PCLMULQDQ; /* AVX2 for MOVBE */
        subjects[i].table_bytes = sizeof(struct stitched);
        subjects[i].table_align = 16;
        stitched_fill_key(&subjects[i]);
        if (i < count / 2) {
            stitched_fill_messages(&subjects[i]);
            stitched_fill_text(&subjects[i]);
        } else {
            apart_fill_messages(&subjects[i]);
            apart_fill_text(&subjects[i]);
        }
    }
    return count;
}

const struct bench_peers bench_openssl_stitched = {.open = open_stitched};
