/* An AES-128-GCM message in pieces, of unknown length: sealed as it is written, opened as it arrives,
 * and used only once its tag is right.
 *
 *   IV 12 | ciphertext | tag 16
 *
 * docs/gcm-streams.md says how to build and run it.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ghashgen.h"

/* Change this name for another kernel. */
#define KERNEL(function) gcm128_avx_winograd_clmul1_x8_streams_##function
#define CONTEXT_BYTES GCM128_AVX_WINOGRAD_CLMUL1_X8_STREAMS_CTX_BYTES
#define CONTEXT_ALIGN GCM128_AVX_WINOGRAD_CLMUL1_X8_STREAMS_CTX_BEST_ALIGN

enum { IV = 12, TAG = 16, STATE = 96 };

struct key {
    _Alignas(CONTEXT_ALIGN) uint8_t context[CONTEXT_BYTES];
};

/* What has arrived of a message. Its last 16 bytes may be the tag, so they wait. */
struct arriving {
    const struct key *key;
    uint8_t state[STATE];
    uint8_t iv[IV], last[TAG];
    size_t have_iv, have_last;
    const uint8_t *aad;
    size_t aad_len;
    uint8_t *text; /* do not read it before arrived has returned 1 */
    size_t len, room;
};

/* Write the next bytes of a message that has begun; return 0 if it is too long. */
int write_more(const struct key *key, uint8_t state[STATE], const uint8_t *text, size_t len,
               uint8_t *out)
{
    return KERNEL(encrypt_more)(key->context, state, text, out, len) == 0;
}

static int take(struct arriving *one, const uint8_t *bytes, size_t len)
{
    if (len > one->room - one->len)
        return 0;
    if (KERNEL(decrypt_more)(one->key->context, one->state, bytes, one->text + one->len, len) != 0)
        return 0;
    one->len += len;
    return 1;
}

static int begin(struct arriving *one)
{
    return KERNEL(start)(one->key->context, one->state, one->iv, IV) == 0 &&
           KERNEL(aad)(one->key->context, one->state, one->aad, one->aad_len) == 0;
}

/* Take the next bytes that have arrived, any number; return 0 if they are too many. */
int arrive(struct arriving *one, const uint8_t *bytes, size_t len)
{
    while (one->have_iv < IV && len) {
        one->iv[one->have_iv++] = *bytes++;
        len--;
        if (one->have_iv == IV && !begin(one))
            return 0;
    }
    if (len == 0)
        return 1;
    if (len < TAG) {
        /* The first of the waiting and new bytes are certainly text. */
        size_t all = one->have_last + len, text = all > TAG ? all - TAG : 0;
        if (!take(one, one->last, text))
            return 0;
        memmove(one->last, one->last + text, one->have_last - text);
        memcpy(one->last + one->have_last - text, bytes, len);
        one->have_last = all - text;
        return 1;
    }
    if (!take(one, one->last, one->have_last) || !take(one, bytes, len - TAG))
        return 0;
    memcpy(one->last, bytes + len - TAG, TAG);
    one->have_last = TAG;
    return 1;
}

/* The message has ended: return 1 if it is right. If not, erase its text. */
int arrived(struct arriving *one)
{
    if (one->have_last == TAG &&
        KERNEL(verify)(one->key->context, one->state, one->last, TAG) == 0)
        return 1;
    memset(one->text, 0, one->len); /* use the platform's secure erase if needed */
    one->len = 0;
    return 0;
}

static int cpu_has_it(void)
{
#if defined(__GNUC__)
    __builtin_cpu_init();
    return __builtin_cpu_supports("aes") && __builtin_cpu_supports("pclmul") &&
           __builtin_cpu_supports("avx");
#else
    return 1;
#endif
}

int main(void)
{
    /* D. McGrew, J. Viega, The Galois/Counter Mode of Operation, appendix B, test case 4 */
    static const uint8_t secret[16] = {0xfe, 0xff, 0xe9, 0x92, 0x86, 0x65, 0x73, 0x1c,
                                       0x6d, 0x6a, 0x8f, 0x94, 0x67, 0x30, 0x83, 0x08};
    static const uint8_t iv[IV] = {0xca, 0xfe, 0xba, 0xbe, 0xfa, 0xce,
                                   0xdb, 0xad, 0xde, 0xca, 0xf8, 0x88};
    static const uint8_t aad[20] = {0xfe, 0xed, 0xfa, 0xce, 0xde, 0xad, 0xbe, 0xef, 0xfe, 0xed,
                                    0xfa, 0xce, 0xde, 0xad, 0xbe, 0xef, 0xab, 0xad, 0xda, 0xd2};
    static const uint8_t text[60] = {
        0xd9, 0x31, 0x32, 0x25, 0xf8, 0x84, 0x06, 0xe5, 0xa5, 0x59, 0x09, 0xc5, 0xaf, 0xf5, 0x26,
        0x9a, 0x86, 0xa7, 0xa9, 0x53, 0x15, 0x34, 0xf7, 0xda, 0x2e, 0x4c, 0x30, 0x3d, 0x8a, 0x31,
        0x8a, 0x72, 0x1c, 0x3c, 0x0c, 0x95, 0x95, 0x68, 0x09, 0x53, 0x2f, 0xcf, 0x0e, 0x24, 0x49,
        0xa6, 0xb5, 0x25, 0xb1, 0x6a, 0xed, 0xf5, 0xaa, 0x0d, 0xe6, 0x57, 0xba, 0x63, 0x7b, 0x39};
    static const uint8_t tag[TAG] = {0x5b, 0xc9, 0x4f, 0xbc, 0x32, 0x21, 0xa5, 0xdb,
                                     0x94, 0xfa, 0xe9, 0x5a, 0xe7, 0x12, 0x1a, 0x47};
    uint8_t state[STATE], message[IV + sizeof text + TAG], out[sizeof text];
    struct key key;

    if (!cpu_has_it()) {
        fputs("this CPU lacks AES-NI, PCLMULQDQ or AVX\n", stderr);
        return 77;
    }
    KERNEL(init)(key.context, secret);

    /* AAD in two pieces, the text in pieces of 1, 2, 3, … bytes. */
    memcpy(message, iv, IV);
    if (KERNEL(start)(key.context, state, iv, IV) || KERNEL(aad)(key.context, state, aad, 7) ||
        KERNEL(aad)(key.context, state, aad + 7, sizeof aad - 7))
        return 1;
    for (size_t at = 0, size = 1; at < sizeof text; at += size, size++) {
        if (size > sizeof text - at)
            size = sizeof text - at;
        if (!write_more(&key, state, text + at, size, message + IV + at))
            return 1;
    }
    if (KERNEL(finish)(key.context, state, message + IV + sizeof text))
        return 1;
    for (size_t i = 0; i < sizeof message; i++)
        printf("%02x", message[i]);
    puts("");
    if (memcmp(message + IV + sizeof text, tag, TAG) != 0)
        return 1;

    /* It arrives in pieces of every size, right, and with each byte wrong. */
    for (size_t size = 1; size <= sizeof message; size++)
        for (size_t wrong = 0; wrong <= sizeof message; wrong++) {
            struct arriving one = {.key = &key, .aad = aad, .aad_len = sizeof aad, .text = out,
                                   .room = sizeof out};
            int right = wrong == sizeof message;
            if (!right)
                message[wrong] ^= 1;
            for (size_t at = 0; at < sizeof message; at += size)
                if (!arrive(&one, message + at,
                            size < sizeof message - at ? size : sizeof message - at))
                    return 1;
            if (!right)
                message[wrong] ^= 1;
            if (arrived(&one) != right || (right && memcmp(out, text, sizeof text) != 0))
                return 1;
        }
    return 0;
}
