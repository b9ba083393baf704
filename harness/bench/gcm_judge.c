#include "gcm_judge.h"

#include "../reference.h"

/* The product of two elements of AES's field, GF(2)[x] / (x^8 + x^4 + x^3 + x + 1). */
static uint8_t product(uint8_t a, uint8_t b)
{
    unsigned sum = 0;
    for (int i = 7; i >= 0; i--) {
        sum = sum << 1 ^ (sum & 0x80 ? 0x11B : 0);
        sum ^= b >> i & 1 ? a : 0;
    }
    return (uint8_t)sum;
}

/* a^254: the inverse, or 0 of 0. */
static uint8_t inverse(uint8_t a)
{
    uint8_t power = 1;
    for (int i = 0; i < 254; i++)
        power = product(power, a);
    return power;
}

const uint8_t *aes_sbox(void)
{
    static uint8_t box[256];
    if (box[0])
        return box;
    for (unsigned i = 0; i < 256; i++) {
        uint8_t b = inverse((uint8_t)i), image = 0x63;
        for (int turn = 0; turn < 5; turn++)
            image ^= (uint8_t)(b << turn | b >> (8 - turn));
        box[i] = image;
    }
    return box;
}

void aes_expand(struct aes_key *key, const uint8_t *bytes, unsigned bits)
{
    const uint8_t *box = aes_sbox();
    size_t words = bits / 32;
    uint8_t *w = key->round[0], rcon = 1;
    key->rounds = (unsigned)words + 6;
    memcpy(w, bytes, 4 * words);
    for (size_t i = words; i < 4 * (size_t)(key->rounds + 1); i++) {
        uint8_t word[4];
        memcpy(word, w + 4 * (i - 1), 4);
        if (i % words == 0) {
            const uint8_t first = word[0];
            for (int j = 0; j < 3; j++)
                word[j] = box[word[j + 1]];
            word[3] = box[first];
            word[0] ^= rcon;
            rcon = product(rcon, 2);
        } else if (words == 8 && i % words == 4) {
            for (int j = 0; j < 4; j++)
                word[j] = box[word[j]];
        }
        for (int j = 0; j < 4; j++)
            w[4 * i + j] = w[4 * (i - words) + j] ^ word[j];
    }
}

static void add_key(uint8_t state[16], const uint8_t key[16])
{
    for (int i = 0; i < 16; i++)
        state[i] ^= key[i];
}

static void mix_columns(uint8_t s[16])
{
    for (int c = 0; c < 16; c += 4) {
        const uint8_t a[4] = {s[c], s[c + 1], s[c + 2], s[c + 3]};
        for (int r = 0; r < 4; r++)
            s[c + r] = product(2, a[r]) ^ product(3, a[(r + 1) % 4]) ^ a[(r + 2) % 4] ^
                       a[(r + 3) % 4];
    }
}

void aes_encrypt(const struct aes_key *key, const uint8_t in[16], uint8_t out[16])
{
    const uint8_t *box = aes_sbox();
    uint8_t state[16], moved[16];
    memcpy(state, in, 16);
    add_key(state, key->round[0]);
    for (unsigned round = 1; round <= key->rounds; round++) {
        for (int i = 0; i < 16; i++)
            moved[i] = box[state[(5 * i) % 16]]; /* SubBytes and ShiftRows */
        memcpy(state, moved, 16);
        if (round < key->rounds)
            mix_columns(state);
        add_key(state, key->round[round]);
    }
    memcpy(out, state, 16);
}

void gcm_increment(uint8_t counter[16])
{
    for (int i = 15; i >= 12 && ++counter[i] == 0; i--)
        continue;
}

void gcm_counter_mode(const struct aes_key *key, uint8_t counter[16], const uint8_t *in, size_t len,
                      uint8_t *out)
{
    uint8_t stream[16];
    for (size_t i = 0; i < len; i++) {
        if (i % 16 == 0) {
            aes_encrypt(key, counter, stream);
            gcm_increment(counter);
        }
        out[i] = in[i] ^ stream[i % 16];
    }
}

void gcm_hash(const struct aes_key *key, uint8_t x[16], const uint8_t *in, size_t len)
{
    uint8_t h[16] = {0}, table[64];
    aes_encrypt(key, h, h);
    ref_bitwise_init(table, h);
    ref_bitwise_update(table, x, in, len);
}

void gcm_lengths(uint8_t block[16], size_t aad_len, size_t len)
{
    store64_be(block, 8 * (uint64_t)aad_len);
    store64_be(block + 8, 8 * (uint64_t)len);
}

void gcm_tag(const struct aes_key *key, const uint8_t iv[12], const uint8_t *aad, size_t aad_len,
             const uint8_t *sealed, size_t len, uint8_t tag[16])
{
    uint8_t lengths[16], first[16] = {[15] = 1}, x[16] = {0};
    gcm_lengths(lengths, aad_len, len);
    gcm_hash(key, x, aad, aad_len);
    gcm_hash(key, x, sealed, len);
    gcm_hash(key, x, lengths, 16);
    memcpy(first, iv, 12);
    aes_encrypt(key, first, tag);
    add_key(tag, x);
}
