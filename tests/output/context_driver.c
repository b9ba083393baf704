/* The glue for AWS-LC, or with OPENSSL defined for OpenSSL, on stand-ins of what it calls: GHASH a bit at a time, and
 * a toy cipher, or for OpenSSL one round after another. Messages in pieces are compared with the standard's words on
 * the whole message. Exit status 0: all agree. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct { uint64_t hi, lo; } u128;
typedef struct { uint8_t key[240]; unsigned rounds; } AES_KEY;
#ifdef OPENSSL
#include "openssl-gcm.c"
typedef void any_key, any_table;
unsigned int OPENSSL_ia32cap_P[4];
#else
typedef AES_KEY any_key;
typedef u128 any_table;
typedef struct {
    uint8_t Yi[16], EKi[16], EK0[16];
    uint64_t lengths[2];
    uint8_t Xi[16];
    struct { u128 Htable[16]; } gcm_key;
    unsigned mres, ares;
} GCM128_CONTEXT;
#endif

static uint32_t load(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void store(uint8_t *p, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++)
        p[i] = (uint8_t)(v >> (8 * (bytes - 1 - i)));
}

static void aes_hw_encrypt(const uint8_t *in, uint8_t *out, const AES_KEY *key)
{
#ifdef OPENSSL
    __m128i x = ghashgen_get(in), k;
    for (unsigned i = 0; i <= key->rounds; i++) {
        k = ghashgen_get(key->key + 16 * i);
        x = i ? _mm_aesenc_si128(x, k) : _mm_xor_si128(x, k);
    }
    ghashgen_put(out, _mm_aesenclast_si128(x, ghashgen_get(key->key + 16 * (key->rounds + 1))));
#else
    uint32_t mixed = 1;
    uint8_t now[16];
    for (int i = 0; i < 48; i++) {
        mixed = mixed * 2654435761u + in[i % 16] + key->key[i % 16];
        now[i % 16] = (uint8_t)(mixed >> 24);
    }
    memcpy(out, now, 16);
#endif
}

/* X = X·H; the table's first 16 bytes are H. */
static void gcm_gmult_avx512(uint8_t X[16], const void *table)
{
    uint8_t H[16], Z[16] = {0};
    memcpy(H, table, 16);
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

static void gcm_ghash_avx512(uint8_t X[16], const void *table, const uint8_t *in, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        X[i % 16] ^= in[i];
        if (i % 16 == 15 || i + 1 == len)
            gcm_gmult_avx512(X, table);
    }
}

static void text(const uint8_t *in, uint8_t *out, size_t len, const AES_KEY *key, const uint8_t ivec[16],
                 const void *table, uint8_t Xi[16], int encrypts)
{
    uint8_t counter[16], stream[16];
    memcpy(counter, ivec, 16);
    for (size_t i = 0; i < len; i += 16) {
        size_t n = len - i < 16 ? len - i : 16;
        uint8_t from[16], to[16];
        aes_hw_encrypt(counter, stream, key);
        store(counter + 12, load(counter + 12) + 1, 4);
        for (size_t k = 0; k < n; k++) {
            from[k] = in[i + k];
            out[i + k] = to[k] = from[k] ^ stream[k];
        }
        gcm_ghash_avx512(Xi, table, encrypts ? to : from, n);
    }
}

#define TEXT(name, encrypts)                                                                                         \
    void name(const uint8_t *in, uint8_t *out, size_t len, const any_key *key, const uint8_t ivec[16],               \
              const any_table *table, uint8_t Xi[16])                                                                \
    {                                                                                                                \
        text(in, out, len, key, ivec, table, Xi, encrypts);                                                          \
    }
#ifdef OPENSSL
#define STAND_INS(set)                                                                                               \
    TEXT(ghashgen_gcm_encrypt_##set, 1)                                                                              \
    TEXT(ghashgen_gcm_decrypt_##set, 0)                                                                              \
    void ghashgen_gcm_init_##set(void *table, const uint8_t halves[16])                                              \
    {                                                                                                                \
        for (int i = 0; i < 16; i++)                                                                                 \
            ((uint8_t *)table)[i] = halves[i ^ 7];                                                                   \
    }                                                                                                                \
    void ghashgen_gcm_mul_##set(uint8_t *x, const void *table)                                                       \
    {                                                                                                                \
        gcm_gmult_avx512(x, table);                                                                                  \
    }                                                                                                                \
    void ghashgen_gcm_update_##set(uint8_t *x, const void *table, const uint8_t *in, size_t len)                     \
    {                                                                                                                \
        gcm_ghash_avx512(x, table, in, len);                                                                         \
    }
STAND_INS(avx)
STAND_INS(avx2)
STAND_INS(avx512)

/* As OpenSSL calls these functions: vaes_gcm_setkey and _setiv, _aadupdate, _cipherupdate, and _cipherfinal. */
static void begin(const AES_KEY *key, GCM128_CONTEXT *ctx, const uint8_t *iv, size_t len)
{
    ossl_aes_gcm_init_avx512(key, ctx);
    memset(&ctx->EKi, 0xa5, 16); /* as an earlier message leaves it */
    ossl_aes_gcm_setiv_avx512(key, ctx, iv, len);
}

static void add(GCM128_CONTEXT *ctx, const uint8_t *aad, size_t len)
{
    ctx->len.u[0] += len;
    for (; ctx->ares && len; len--) {
        ctx->Xi.c[15 - ctx->ares] ^= *aad++;
        ctx->ares = (ctx->ares + 1) % 16;
        if (!ctx->ares)
            ossl_gcm_gmult_avx512(ctx->Xi.c, ctx);
    }
    if (len >= 16)
        ossl_aes_gcm_update_aad_avx512(ctx, aad, len & ~(size_t)15);
    for (size_t i = len & ~(size_t)15; i < len; i++)
        ctx->Xi.c[15 - ctx->ares++] ^= aad[i];
}

static void more(const AES_KEY *key, GCM128_CONTEXT *ctx, uint8_t *at, size_t len, int encrypts)
{
    ctx->len.u[1] += len;
    if (ctx->ares)
        ossl_gcm_gmult_avx512(ctx->Xi.c, ctx);
    ctx->ares = 0;
    (encrypts ? ossl_aes_gcm_encrypt_avx512 : ossl_aes_gcm_decrypt_avx512)(key, ctx, &ctx->mres, at, len, at);
}

static void end(GCM128_CONTEXT *ctx)
{
    ossl_aes_gcm_finalize_avx512(ctx, ctx->ares ? ctx->ares : ctx->mres);
}
#else
TEXT(ghashgen_encrypt_avx512, 1)
TEXT(ghashgen_decrypt_avx512, 0)
#define GHASH_ASM_X86_64
#include "aws-lc-gcm.h"

/* AWS-LC's portable code does the rest. */
static void begin(const AES_KEY *key, GCM128_CONTEXT *ctx, const uint8_t *iv, size_t len)
{
    aes_hw_encrypt(ctx->Yi, (uint8_t *)ctx->gcm_key.Htable, key);
    gcm_setiv_avx512(key, ctx, iv, len);
}

static void add(GCM128_CONTEXT *ctx, const uint8_t *aad, size_t len)
{
    ctx->lengths[0] += len;
    for (size_t i = 0; i < len; i++) {
        ctx->Xi[ctx->ares] ^= aad[i];
        ctx->ares = (ctx->ares + 1) % 16;
        if (!ctx->ares)
            gcm_gmult_avx512(ctx->Xi, ctx->gcm_key.Htable);
    }
}

static void more(const AES_KEY *key, GCM128_CONTEXT *ctx, uint8_t *at, size_t len, int encrypts)
{
    ctx->lengths[1] += len;
    if (ctx->ares)
        gcm_gmult_avx512(ctx->Xi, ctx->gcm_key.Htable);
    ctx->ares = 0;
    (encrypts ? aes_gcm_encrypt_avx512 : aes_gcm_decrypt_avx512)(key, ctx, &ctx->mres, at, len, at);
}

static void end(GCM128_CONTEXT *ctx)
{
    uint8_t bits[16];

    store(bits, 8 * ctx->lengths[0], 8);
    store(bits + 8, 8 * ctx->lengths[1], 8);
    if (ctx->ares || ctx->mres)
        gcm_gmult_avx512(ctx->Xi, ctx->gcm_key.Htable);
    gcm_ghash_avx512(ctx->Xi, ctx->gcm_key.Htable, bits, 16);
    for (int i = 0; i < 16; i++)
        ctx->Xi[i] ^= ctx->EK0[i];
}
#endif

int main(void)
{
    static uint8_t iv[40], in[200], wanted[200], out[200];
    AES_KEY key;

    for (size_t i = 0; i < sizeof in; i++)
        in[i] = (uint8_t)(i * i + 7), iv[i % 40] = (uint8_t)(~i * 3);
    for (size_t i = 0; i < sizeof key.key; i++)
        key.key[i] = (uint8_t)(i * i * 5 + i / 3);
    for (size_t i = 0; i < 200 * 20; i++) {
        size_t len = i % 200, piece = 1 + i / 200 * 5, iv_len = i % 3 ? 12 : 1 + i % 40, aad_len = (i + i / 50) % 70;
        size_t first = aad_len * (i % 5) / 4;
        int encrypts = i / 3 % 2;
        GCM128_CONTEXT ctx = {0};
        uint8_t H[16] = {0}, J[16] = {0}, X[16] = {0}, mask[16], bits[16] = {0};

        key.rounds = 9 + i % 3 * 2;
        aes_hw_encrypt(H, H, &key);
        memcpy(J, iv, iv_len == 12 ? 12 : 0);
        J[15] = iv_len == 12;
        store(bits + 8, 8 * iv_len, 8);
        if (iv_len != 12) {
            gcm_ghash_avx512(J, H, iv, iv_len);
            gcm_ghash_avx512(J, H, bits, 16);
        }
        aes_hw_encrypt(J, mask, &key);
        store(J + 12, load(J + 12) + 1, 4);
        gcm_ghash_avx512(X, H, in + 3, aad_len);
        text(in, wanted, len, &key, J, H, X, encrypts);
        store(bits, 8 * aad_len, 8);
        store(bits + 8, 8 * len, 8);
        gcm_ghash_avx512(X, H, bits, 16);
        for (int k = 0; k < 16; k++)
            X[k] ^= mask[k];

        begin(&key, &ctx, iv, iv_len);
        add(&ctx, in + 3, first);
        add(&ctx, in + 3 + first, aad_len - first);
        memcpy(out, in, len);
        if (i % 7 == 0)
            more(&key, &ctx, out, 0, encrypts);
        for (size_t done = 0, now; done < len; done += now) {
            now = len - done < piece ? len - done : piece;
            more(&key, &ctx, out + done, now, encrypts);
        }
        end(&ctx);
        if (memcmp(out, wanted, len) || memcmp(&ctx.Xi, X, 16)) {
            printf("%zu bytes in pieces of %zu, IV of %zu, AAD of %zu: wrong\n", len, piece, iv_len, aad_len);
            return 1;
        }
    }
    return 0;
}
