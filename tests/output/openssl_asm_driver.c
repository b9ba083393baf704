/* Calls openssl-gcm.c with stand-ins of the kernels, which note what they are given. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "openssl-gcm.c"

unsigned int OPENSSL_ia32cap_P[4];

static const char *called;
static const void *at;
static size_t told;

#define STAND_INS(set)                                                                                        \
    void ghashgen_gcm_init_##set(void *table, const uint8_t *halves)                                          \
    {                                                                                                         \
        called = "init " #set, at = table, told = halves[0];                                                  \
    }                                                                                                         \
    void ghashgen_gcm_mul_##set(uint8_t *x, const void *table)                                                \
    {                                                                                                         \
        called = "mul " #set, at = table, told = x[0];                                                        \
    }                                                                                                         \
    void ghashgen_gcm_update_##set(uint8_t *x, const void *table, const uint8_t *in, size_t len)              \
    {                                                                                                         \
        called = "update " #set, at = table, told = len + x[0] + in[0];                                       \
    }                                                                                                         \
    void ghashgen_gcm_encrypt_##set(const uint8_t *in, uint8_t *out, size_t len, const void *key,             \
                                    const uint8_t *counter, const void *table, uint8_t *x)                    \
    {                                                                                                         \
        called = "encrypt " #set, at = table, told = len + (in == out) + (key == counter) + x[0];             \
    }                                                                                                         \
    void ghashgen_gcm_decrypt_##set(const uint8_t *in, uint8_t *out, size_t len, const void *key,             \
                                    const uint8_t *counter, const void *table, uint8_t *x)                    \
    {                                                                                                         \
        called = "decrypt " #set, at = table, told = len + (in == out) + (key == counter) + x[0];             \
    }
STAND_INS(avx)
STAND_INS(avx2)
STAND_INS(avx512)

static int wrong;

static void see(const char *what, const void *table, size_t number)
{
    if (called && !strcmp(what, called) && at == table && told == number)
        return;
    printf("wrong: %s and %zu, not %s and %zu\n", called ? called : "nothing", told, what, number);
    wrong = 1;
}

int main(void)
{
    static const struct {
        const char *set;
        unsigned int b, c;
    } cpus[] = {{"avx", 0, 0}, {"avx", 0x20, 0x200}, {"avx2", 0x40030020, 0x600}, {"avx512", 0xc0030020, 0x600}};
    /* As in a GCM128_CONTEXT: Xi, H, the table. */
    static uint8_t context[32 + 256], text[64];
    uint8_t *const table = context + 32;
    const uint8_t after[16] = {[11] = 7, [15] = 1};

    for (size_t i = 0; i < sizeof cpus / sizeof cpus[0]; i++) {
        uint8_t first[16] = {[11] = 7, [12] = 0xff, 0xff, 0xff, 0xfe}, counter[16];
        char name[16];

        OPENSSL_ia32cap_P[2] = cpus[i].b, OPENSSL_ia32cap_P[3] = cpus[i].c;
#define SEE(what, number) (snprintf(name, sizeof name, what " %s", cpus[i].set), see(name, table, number))
        gcm_init_avx(table, first);
        SEE("init", 0);
        gcm_gmult_avx(context, table);
        SEE("mul", 0);
        gcm_ghash_avx(context, table, text, 48);
        SEE("update", 48);
        /* Three blocks of 63 bytes; the last 4 bytes of the counter wrap. */
        memcpy(counter, first, 16);
        wrong |= aesni_gcm_encrypt(text, text, 63, text, counter, context) != 48;
        SEE("encrypt", 49);
        wrong |= memcmp(counter, after, 16) != 0;
        memcpy(counter, first, 16);
        wrong |= aesni_gcm_decrypt(text, context, 48, text, counter, context) != 48;
        SEE("decrypt", 48);
        wrong |= memcmp(counter, after, 16) != 0;
    }
    for (int bit = 0; bit < 32; bit++) {
        OPENSSL_ia32cap_P[1] = 1u << 1 | 1u << 25 | 1u << 28;
        wrong |= !ossl_vaes_vpclmulqdq_capable();
        OPENSSL_ia32cap_P[1] &= ~(1u << bit);
        wrong |= !ossl_vaes_vpclmulqdq_capable() != (bit == 1 || bit == 25 || bit == 28);
    }
    if (wrong)
        puts("wrong");
    return wrong;
}
