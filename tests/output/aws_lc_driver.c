/* The glue for AWS-LC on stand-ins of what it calls: a toy cipher, and GHASH a bit at a time. Messages in
 * pieces are compared with the standard's words on the whole message. Exit status 0: all agree. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct { uint64_t hi, lo; } u128;
typedef struct { uint8_t key[16]; } AES_KEY;
typedef struct {
    uint8_t Yi[16], EKi[16], EK0[16];
    uint64_t lengths[2];
    uint8_t Xi[16];
    struct { u128 Htable[16]; } gcm_key;
    unsigned mres, ares;
} GCM128_CONTEXT;
#define OPENSSL_memcpy memcpy

static uint32_t CRYPTO_load_u32_be(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void CRYPTO_store_u32_be(uint8_t *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(v >> (24 - 8 * i));
}

static void CRYPTO_store_u64_be(uint8_t *p, uint64_t v)
{
    CRYPTO_store_u32_be(p, (uint32_t)(v >> 32));
    CRYPTO_store_u32_be(p + 4, (uint32_t)v);
}

static void aes_hw_encrypt(const uint8_t *in, uint8_t *out, const AES_KEY *key)
{
    uint32_t mixed = 1;
    uint8_t now[16];
    for (int i = 0; i < 48; i++) {
        mixed = mixed * 2654435761u + in[i % 16] + key->key[i % 16];
        now[i % 16] = (uint8_t)(mixed >> 24);
    }
    memcpy(out, now, 16);
}

/* X = X·H; the table's first 16 bytes are H. */
static void gcm_gmult_avx512(uint8_t X[16], const u128 Htable[16])
{
    uint8_t H[16], Z[16] = {0};
    memcpy(H, Htable, 16);
    for (int i = 0; i < 128; i++) {
        int odd = H[15] & 1;
        for (int k = 0; k < 16 && X[i / 8] >> (7 - i % 8) & 1; k++)
            Z[k] ^= H[k];
        for (int k = 15; k >= 0; k--)
            H[k] = (uint8_t)(H[k] >> 1 | (k ? H[k - 1] << 7 : 0));
        H[0] ^= odd ? 0xe1 : 0;
    }
    memcpy(X, Z, 16);
}

static void gcm_ghash_avx512(uint8_t X[16], const u128 Htable[16], const uint8_t *in, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        X[i % 16] ^= in[i];
        if (i % 16 == 15 || i + 1 == len)
            gcm_gmult_avx512(X, Htable);
    }
}

static void text(const uint8_t *in, uint8_t *out, size_t len, const AES_KEY *key, const uint8_t ivec[16],
                 const u128 Htable[16], uint8_t Xi[16], int encrypts)
{
    uint8_t counter[16], stream[16];
    memcpy(counter, ivec, 16);
    for (size_t i = 0; i < len; i += 16) {
        size_t n = len - i < 16 ? len - i : 16;
        uint8_t from[16], to[16];
        aes_hw_encrypt(counter, stream, key);
        CRYPTO_store_u32_be(counter + 12, CRYPTO_load_u32_be(counter + 12) + 1);
        for (size_t k = 0; k < n; k++) {
            from[k] = in[i + k];
            out[i + k] = to[k] = from[k] ^ stream[k];
        }
        gcm_ghash_avx512(Xi, Htable, encrypts ? to : from, n);
    }
}

void ghashgen_encrypt_avx512(const uint8_t *in, uint8_t *out, size_t len, const AES_KEY *key, const uint8_t ivec[16],
                             const u128 Htable[16], uint8_t Xi[16])
{
    text(in, out, len, key, ivec, Htable, Xi, 1);
}

void ghashgen_decrypt_avx512(const uint8_t *in, uint8_t *out, size_t len, const AES_KEY *key, const uint8_t ivec[16],
                             const u128 Htable[16], uint8_t Xi[16])
{
    text(in, out, len, key, ivec, Htable, Xi, 0);
}

#define GHASH_ASM_X86_64
#include "aws-lc-gcm.h"

int main(void)
{
    static uint8_t iv[40], in[200], wanted[200], out[200];
    AES_KEY key = {{3, 1, 4, 1, 5}};

    for (size_t i = 0; i < sizeof in; i++)
        in[i] = (uint8_t)(i * i + 7), iv[i % 40] = (uint8_t)(~i * 3);
    for (size_t i = 0; i < 200 * 20; i++) {
        size_t len = i % 200, piece = 1 + i / 200 * 5, iv_len = i % 3 ? 12 : 1 + i % 40;
        int encrypts = i / 3 % 2;
        GCM128_CONTEXT ctx = {0};
        uint8_t J[16] = {0}, X[16] = {0}, mask[16], bits[16] = {0};

        aes_hw_encrypt(bits, (uint8_t *)ctx.gcm_key.Htable, &key);
        memcpy(J, iv, iv_len == 12 ? 12 : 0);
        J[15] = iv_len == 12;
        CRYPTO_store_u64_be(bits + 8, 8 * iv_len);
        if (iv_len != 12) {
            gcm_ghash_avx512(J, ctx.gcm_key.Htable, iv, iv_len);
            gcm_ghash_avx512(J, ctx.gcm_key.Htable, bits, 16);
        }
        aes_hw_encrypt(J, mask, &key);
        CRYPTO_store_u32_be(J + 12, CRYPTO_load_u32_be(J + 12) + 1);
        text(in, wanted, len, &key, J, ctx.gcm_key.Htable, X, encrypts);

        gcm_setiv_avx512(&key, &ctx, iv, iv_len);
        memcpy(out, in, len);
        for (size_t done = 0, now; done < len; done += now) {
            now = len - done < piece ? len - done : piece;
            (encrypts ? aes_gcm_encrypt_avx512 : aes_gcm_decrypt_avx512)(&key, &ctx, &ctx.mres, out + done, now,
                                                                        out + done);
        }
        if (ctx.mres)
            gcm_gmult_avx512(ctx.Xi, ctx.gcm_key.Htable);
        if (memcmp(out, wanted, len) || memcmp(ctx.Xi, X, 16) || memcmp(ctx.EK0, mask, 16)) {
            printf("%zu bytes in pieces of %zu, IV of %zu bytes: wrong\n", len, piece, iv_len);
            return 1;
        }
    }
    return 0;
}
