/*
 * AES-GCM in portable C with tables, as libraries without AES instructions have it: AES by a table of
 * 1 KiB that holds MixColumns of SubBytes (J. Daemen, V. Rijmen, The Design of Rijndael, section 4.2),
 * GHASH by ref_4bit. NOT constant-time: text and key select the cache lines that are read.
 */
#include "../reference.h"
#include "gcm_judge.h"
#include "gcm_loops.h"
#include "gcm_subjects.h"

struct tables_context {
    struct aes_key key;
    uint32_t words[4 * AES_ROUND_KEYS]; /* the round keys, columns as big-endian words */
    struct block hash[16];
};

/* Column r of MixColumns, S-box applied, in the top byte first; rows 1 to 3 are rotations of it. */
static uint32_t mixed[256];

static uint32_t rotate(uint32_t v, int bits)
{
    return v >> bits | v << (32 - bits);
}

static uint32_t load32_be(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void fill_mixed(void)
{
    const uint8_t *box = aes_sbox();
    for (unsigned i = 0; i < 256; i++) {
        uint32_t once = box[i], twice = (once << 1 ^ (once & 0x80 ? 0x11B : 0)) & 0xFF;
        mixed[i] = twice << 24 | once << 16 | once << 8 | (twice ^ once);
    }
}

static void encrypt_block(const struct tables_context *c, const uint8_t in[16], uint8_t out[16])
{
    const uint8_t *box = aes_sbox();
    const uint32_t *k = c->words;
    uint32_t s[4], t[4];
    for (int i = 0; i < 4; i++)
        s[i] = load32_be(in + 4 * i) ^ k[i];
    for (unsigned round = 1; round < c->key.rounds; round++) {
        k += 4;
        for (int i = 0; i < 4; i++)
            t[i] = mixed[s[i] >> 24] ^ rotate(mixed[s[(i + 1) % 4] >> 16 & 0xFF], 8) ^
                   rotate(mixed[s[(i + 2) % 4] >> 8 & 0xFF], 16) ^
                   rotate(mixed[s[(i + 3) % 4] & 0xFF], 24) ^ k[i];
        memcpy(s, t, sizeof s);
    }
    k += 4;
    for (int i = 0; i < 4; i++) {
        uint32_t last = (uint32_t)box[s[i] >> 24] << 24 |
                        (uint32_t)box[s[(i + 1) % 4] >> 16 & 0xFF] << 16 |
                        (uint32_t)box[s[(i + 2) % 4] >> 8 & 0xFF] << 8 |
                        (uint32_t)box[s[(i + 3) % 4] & 0xFF];
        last ^= k[i];
        for (int j = 0; j < 4; j++)
            out[4 * i + j] = (uint8_t)(last >> (24 - 8 * j));
    }
}

static void tables_key(const struct bench_subject *s, void *table, const uint8_t *key)
{
    struct tables_context *c = table;
    uint8_t h[16] = {0};
    if (!mixed[0])
        fill_mixed();
    aes_expand(&c->key, key, s->key_bits);
    for (size_t i = 0; i < 4 * (size_t)(c->key.rounds + 1); i++)
        c->words[i] = load32_be(c->key.round[0] + 4 * i);
    encrypt_block(c, h, h);
    ref_4bit_init(c->hash, h);
}

static void counter_mode(const struct tables_context *c, uint8_t counter[16], const uint8_t *in,
                         size_t len, uint8_t *out)
{
    uint8_t stream[16];
    for (; len > 0;) {
        size_t n = len < 16 ? len : 16;
        encrypt_block(c, counter, stream);
        gcm_increment(counter);
        for (size_t i = 0; i < n; i++)
            out[i] = in[i] ^ stream[i];
        in += n;
        out += n;
        len -= n;
    }
}

static void tables_tag(const struct tables_context *c, const uint8_t *iv, const uint8_t *aad,
                       const uint8_t *sealed, size_t len, uint8_t tag[16])
{
    uint8_t lengths[16], first[16] = {[15] = 1}, x[16] = {0};
    gcm_lengths(lengths, BENCH_AAD, len);
    ref_4bit_update(c->hash, x, aad, BENCH_AAD);
    ref_4bit_update(c->hash, x, sealed, len);
    ref_4bit_update(c->hash, x, lengths, 16);
    memcpy(first, iv, 12);
    encrypt_block(c, first, tag);
    for (int i = 0; i < 16; i++)
        tag[i] ^= x[i];
}

static void tables_seal(const void *table, const uint8_t *iv, const uint8_t *in, size_t len,
                        const uint8_t *aad, uint8_t *out, uint8_t *tag)
{
    uint8_t counter[16] = {[15] = 2};
    memcpy(counter, iv, 12);
    counter_mode(table, counter, in, len, out);
    tables_tag(table, iv, aad, out, len, tag);
}

static int tables_open(const void *table, const uint8_t *iv, const uint8_t *in, size_t len,
                       const uint8_t *aad, uint8_t *out, const uint8_t *tag)
{
    uint8_t counter[16] = {[15] = 2}, wanted[16], differs = 0;
    memcpy(counter, iv, 12);
    tables_tag(table, iv, aad, in, len, wanted);
    counter_mode(table, counter, in, len, out);
    for (int i = 0; i < 16; i++)
        differs |= wanted[i] ^ tag[i];
    return !differs;
}

#define SEAL(s, table, iv, in, len, aad, out, tag) tables_seal(table, iv, in, len, aad, out, tag)
#define OPEN(s, table, iv, in, len, aad, out, tag) tables_open(table, iv, in, len, aad, out, tag)

BENCH_KEY_LOOPS(tables, tables_key, tables_key)
BENCH_MESSAGE_LOOPS(tables, SEAL, OPEN)

size_t gcm_portable_subjects(struct bench_subject *subjects, size_t room)
{
    static const struct bench_subject found[] = {
        {.name = "ref_gcm128_tables", .key_bits = 128},
        {.name = "ref_gcm192_tables", .key_bits = 192},
        {.name = "ref_gcm256_tables", .key_bits = 256},
    };
    size_t count = sizeof found / sizeof found[0];
    if (count > room)
        return 0;
    for (size_t i = 0; i < count; i++) {
        subjects[i] = found[i];
        subjects[i].kind = "portable";
        subjects[i].table_bytes = sizeof(struct tables_context);
        subjects[i].table_align = 8;
        tables_fill_key(&subjects[i]);
        tables_fill_messages(&subjects[i]);
    }
    return count;
}
