/*
 * A literal implementation of AES-GCM (FIPS 197 and SP 800-38D), one byte and one bit at a time. It
 * decides whether a subject is right, and is never measured.
 */
#ifndef GHASHGEN_BENCH_GCM_JUDGE_H
#define GHASHGEN_BENCH_GCM_JUDGE_H

#include <stddef.h>
#include <stdint.h>

#define AES_ROUND_KEYS 15

struct aes_key {
    uint8_t round[AES_ROUND_KEYS][16]; /* in the order of bytes that FIPS 197 section 5.2 writes */
    unsigned rounds;
};

/* S-box of FIPS 197 section 5.1.1, computed when first asked for. */
const uint8_t *aes_sbox(void);

void aes_expand(struct aes_key *key, const uint8_t *bytes, unsigned bits);
void aes_encrypt(const struct aes_key *key, const uint8_t in[16], uint8_t out[16]);

/* inc32 of SP 800-38D section 6.2. */
void gcm_increment(uint8_t counter[16]);

/* out = in in counter mode from this counter block, which advances. */
void gcm_counter_mode(const struct aes_key *key, uint8_t counter[16], const uint8_t *in, size_t len,
                      uint8_t *out);

/* The state of GHASH from x over in, the last block padded with zeros. */
void gcm_hash(const struct aes_key *key, uint8_t x[16], const uint8_t *in, size_t len);

/* The tag of a ciphertext, for an IV of 12 bytes. */
void gcm_tag(const struct aes_key *key, const uint8_t iv[12], const uint8_t *aad, size_t aad_len,
             const uint8_t *sealed, size_t len, uint8_t tag[16]);

/* The length block that ends the hash: bits of AAD and of text. */
void gcm_lengths(uint8_t block[16], size_t aad_len, size_t len);

#endif
