/*
 * AES-GCM in portable C with tables, as in libraries without AES instructions: AES by four
 * tables of 1 KiB that hold MixColumns of SubBytes (J. Daemen, V. Rijmen, The Design of Rijndael, section 4.2),
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

/* Of each row of a column: MixColumns of SubBytes of its byte. */
static uint32_t mixed[4][256];

static uint32_t load32_be(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return __builtin_bswap32(v);
}

static void store32_be(uint8_t *p, uint32_t v)
{
    v = __builtin_bswap32(v);
    memcpy(p, &v, sizeof v);
}

static void fill_mixed(void)
{
    const uint8_t *box = aes_sbox();
    for (unsigned i = 0; i < 256; i++) {
        uint32_t once = box[i], twice = (once << 1 ^ (once & 0x80 ? 0x11B : 0)) & 0xFF;
        uint32_t column = twice << 24 | once << 16 | once << 8 | (twice ^ once);
        for (int row = 0; row < 4; row++, column = column >> 8 | column << 24)
            mixed[row][i] = column;
    }
}

/* A column of the next state, from the columns where ShiftRows takes its rows. */
#define ROUND(a, b, c, d)                                                                          \
    (mixed[0][(a) >> 24] ^ mixed[1][(b) >> 16 & 0xFF] ^ mixed[2][(c) >> 8 & 0xFF] ^                \
     mixed[3][(d) & 0xFF])
#define LAST(a, b, c, d)                                                                           \
    ((uint32_t)box[(a) >> 24] << 24 | (uint32_t)box[(b) >> 16 & 0xFF] << 16 |                      \
     (uint32_t)box[(c) >> 8 & 0xFF] << 8 | (uint32_t)box[(d) & 0xFF])

static void encrypt_block(const struct tables_context *c, const uint8_t in[16], uint8_t out[16])
{
    const uint8_t *box = aes_sbox();
    const uint32_t *k = c->words;
    uint32_t s0 = load32_be(in) ^ k[0], s1 = load32_be(in + 4) ^ k[1];
    uint32_t s2 = load32_be(in + 8) ^ k[2], s3 = load32_be(in + 12) ^ k[3];
    for (unsigned round = 1; round < c->key.rounds; round++) {
        k += 4;
        uint32_t t0 = ROUND(s0, s1, s2, s3) ^ k[0], t1 = ROUND(s1, s2, s3, s0) ^ k[1];
        uint32_t t2 = ROUND(s2, s3, s0, s1) ^ k[2], t3 = ROUND(s3, s0, s1, s2) ^ k[3];
        s0 = t0, s1 = t1, s2 = t2, s3 = t3;
    }
    k += 4;
    store32_be(out, LAST(s0, s1, s2, s3) ^ k[0]);
    store32_be(out + 4, LAST(s1, s2, s3, s0) ^ k[1]);
    store32_be(out + 8, LAST(s2, s3, s0, s1) ^ k[2]);
    store32_be(out + 12, LAST(s3, s0, s1, s2) ^ k[3]);
}

static void tables_key(const struct bench_subject *s, void *table, const uint8_t *key)
{
    struct tables_context *c = table;
    uint8_t h[16] = {0};
    if (!mixed[0][0])
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
                       size_t aad_len, const uint8_t *sealed, size_t len, uint8_t tag[16])
{
    uint8_t lengths[16], first[16] = {[15] = 1}, x[16] = {0};
    gcm_lengths(lengths, aad_len, len);
    ref_4bit_update(c->hash, x, aad, aad_len);
    ref_4bit_update(c->hash, x, sealed, len);
    ref_4bit_update(c->hash, x, lengths, 16);
    memcpy(first, iv, 12);
    encrypt_block(c, first, tag);
    for (int i = 0; i < 16; i++)
        tag[i] ^= x[i];
}

static void tables_seal(const void *table, const uint8_t *iv, const uint8_t *in, size_t len,
                        const uint8_t *aad, size_t aad_len, uint8_t *out, uint8_t *tag)
{
    uint8_t counter[16] = {[15] = 2};
    memcpy(counter, iv, 12);
    counter_mode(table, counter, in, len, out);
    tables_tag(table, iv, aad, aad_len, out, len, tag);
}

static int tables_open(const void *table, const uint8_t *iv, const uint8_t *in, size_t len,
                       const uint8_t *aad, size_t aad_len, uint8_t *out, const uint8_t *tag)
{
    uint8_t counter[16] = {[15] = 2}, wanted[16], differs = 0;
    memcpy(counter, iv, 12);
    tables_tag(table, iv, aad, aad_len, in, len, wanted);
    counter_mode(table, counter, in, len, out);
    for (int i = 0; i < 16; i++)
        differs |= wanted[i] ^ tag[i];
    return !differs;
}

#define SEAL(s, table, iv, in, len, aad, aad_len, out, tag) tables_seal(table, iv, in, len, aad, aad_len, out, tag)
#define OPEN(s, table, iv, in, len, aad, aad_len, out, tag) tables_open(table, iv, in, len, aad, aad_len, out, tag)

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
