/*
 * OpenSSL's AES-CTR as programs call it: EVP, the library choosing the code. The key is set once,
 * each text sets a counter block. Its counter has 128 bits; they agree while 32 do not wrap.
 */
#include <openssl/evp.h>

#include "ctr_loops.h"

struct openssl_ctr {
    EVP_CIPHER_CTX *context;
};

static const EVP_CIPHER *cipher_of(unsigned bits)
{
    return bits == 128 ? EVP_aes_128_ctr() : bits == 192 ? EVP_aes_192_ctr() : EVP_aes_256_ctr();
}

static inline void set_key(const struct bench_subject *s, void *table, const uint8_t *key)
{
    struct openssl_ctr *c = table;
    if (!c->context) {
        c->context = EVP_CIPHER_CTX_new();
        EVP_EncryptInit_ex(c->context, cipher_of(s->key_bits), NULL, NULL, NULL);
    }
    EVP_EncryptInit_ex(c->context, NULL, NULL, key, NULL);
}

static inline void crypt_text(const void *table, const uint8_t *counter, const uint8_t *in,
                              size_t len, uint8_t *out)
{
    EVP_CIPHER_CTX *c = ((const struct openssl_ctr *)table)->context;
    int done;
    EVP_EncryptInit_ex(c, NULL, NULL, NULL, counter);
    EVP_EncryptUpdate(c, out, &done, in, (int)len);
}

#define CRYPT(s, table, counter, in, len, out) crypt_text(table, counter, in, len, out)

BENCH_KEY_LOOPS(evp, set_key, set_key)
BENCH_CRYPT_LOOPS(evp, CRYPT)

static size_t open_openssl_ctr(struct bench_subject *subjects, size_t room)
{
    static const struct bench_subject found[] = {
        {.name = "openssl_ctr_128", .key_bits = 128},
        {.name = "openssl_ctr_192", .key_bits = 192},
        {.name = "openssl_ctr_256", .key_bits = 256},
    };
    size_t count = sizeof found / sizeof found[0];
    if (count > room)
        return 0;
    for (size_t i = 0; i < count; i++) {
        subjects[i] = found[i];
        subjects[i].kind = "peer";
        subjects[i].table_bytes = sizeof(struct openssl_ctr);
        subjects[i].table_align = 8;
        evp_fill_key(&subjects[i]);
        evp_fill_crypt(&subjects[i]);
    }
    return count;
}

const struct bench_peers bench_openssl_ctr = {.open = open_openssl_ctr};
