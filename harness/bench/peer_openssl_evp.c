/*
 * OpenSSL's AES-GCM as programs call it: EVP, its shared library choosing the code. The key is set once,
 * each message sets an IV and makes a tag.
 */
#include <openssl/evp.h>

#include "gcm_loops.h"

struct evp_context {
    EVP_CIPHER_CTX *sealing, *opening;
};

static const EVP_CIPHER *cipher_of(const struct bench_subject *s)
{
    switch (s->key_bits) {
    case 128:
        return EVP_aes_128_gcm();
    case 192:
        return EVP_aes_192_gcm();
    default:
        return EVP_aes_256_gcm();
    }
}

/* Sets the key of a context that knows its cipher. */
static void set_key(const struct bench_subject *s, void *table, const uint8_t *key)
{
    (void)s;
    EVP_EncryptInit_ex(((struct evp_context *)table)->sealing, NULL, NULL, key, NULL);
}

static void open_contexts(const struct bench_subject *s, void *table, const uint8_t *key)
{
    struct evp_context *c = table;
    if (!c->sealing) {
        c->sealing = EVP_CIPHER_CTX_new();
        c->opening = EVP_CIPHER_CTX_new();
        EVP_EncryptInit_ex(c->sealing, cipher_of(s), NULL, NULL, NULL);
        EVP_DecryptInit_ex(c->opening, cipher_of(s), NULL, NULL, NULL);
    }
    set_key(s, table, key);
    EVP_DecryptInit_ex(c->opening, NULL, NULL, key, NULL);
}

static inline void seal(const void *table, const uint8_t *iv, const uint8_t *in, size_t len,
                        const uint8_t *aad, size_t aad_len, uint8_t *out, uint8_t *tag)
{
    EVP_CIPHER_CTX *c = ((const struct evp_context *)table)->sealing;
    int done;
    EVP_EncryptInit_ex(c, NULL, NULL, NULL, iv);
    EVP_EncryptUpdate(c, NULL, &done, aad, (int)aad_len);
    EVP_EncryptUpdate(c, out, &done, in, (int)len);
    EVP_EncryptFinal_ex(c, out + done, &done);
    EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, 16, tag);
}

static inline int unseal(const void *table, const uint8_t *iv, const uint8_t *in, size_t len,
                         const uint8_t *aad, size_t aad_len, uint8_t *out, const uint8_t *tag)
{
    EVP_CIPHER_CTX *c = ((const struct evp_context *)table)->opening;
    int done;
    EVP_DecryptInit_ex(c, NULL, NULL, NULL, iv);
    EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, 16, (void *)(uintptr_t)tag);
    EVP_DecryptUpdate(c, NULL, &done, aad, (int)aad_len);
    EVP_DecryptUpdate(c, out, &done, in, (int)len);
    return EVP_DecryptFinal_ex(c, out + done, &done) == 1;
}

#define SEAL(s, table, iv, in, len, aad, aad_len, out, tag) seal(table, iv, in, len, aad, aad_len, out, tag)
#define OPEN(s, table, iv, in, len, aad, aad_len, out, tag) unseal(table, iv, in, len, aad, aad_len, out, tag)

BENCH_KEY_LOOPS(evp, set_key, open_contexts)
BENCH_MESSAGE_LOOPS(evp, SEAL, OPEN)

static size_t open_evp(struct bench_subject *subjects, size_t room)
{
    static const struct bench_subject found[] = {
        {.name = "openssl_evp_128", .key_bits = 128},
        {.name = "openssl_evp_192", .key_bits = 192},
        {.name = "openssl_evp_256", .key_bits = 256},
    };
    size_t count = sizeof found / sizeof found[0];
    if (count > room)
        return 0;
    for (size_t i = 0; i < count; i++) {
        subjects[i] = found[i];
        subjects[i].kind = "peer";
        subjects[i].table_bytes = sizeof(struct evp_context);
        subjects[i].table_align = 8;
        evp_fill_key(&subjects[i]);
        evp_fill_messages(&subjects[i]);
    }
    return count;
}

const struct bench_peers bench_openssl_evp = {.open = open_evp};
