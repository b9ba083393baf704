/* Records of TLS 1.3 under AES-128-GCM: RFC 8446, sections 5.2 to 5.5.
 *
 *   23 | 0x0303 | length 2 | ciphertext of (content | type 1 | padding of zeros) | tag 16
 *
 * docs/gcm.md says how to build and run it.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "ghashgen.h"

/* Change this name for another kernel. */
#define KERNEL(function) gcm128_avx_winograd_clmul1_x8_##function
#define CONTEXT_BYTES GCM128_AVX_WINOGRAD_CLMUL1_X8_CTX_BYTES
#define CONTEXT_ALIGN GCM128_AVX_WINOGRAD_CLMUL1_X8_CTX_BEST_ALIGN

enum {
    ALERT = 21,
    HANDSHAKE = 22,
    APPLICATION_DATA = 23,
    HEADER = 5,
    TAG = 16,
    CONTENT_MAX = 1 << 14,
    LENGTH_MAX = CONTENT_MAX + 256, /* RFC 8446, section 5.2 */
};

/* What unprotect returns unless 0: the alert to send. Each is fatal. */
enum {
    UNEXPECTED_MESSAGE = 10,
    BAD_RECORD_MAC = 20,
    RECORD_OVERFLOW = 22,
    DECODE_ERROR = 50,
    INTERNAL_ERROR = 80,
};

/* One direction of a connection, until its key is updated. */
struct tls13 {
    _Alignas(CONTEXT_ALIGN) uint8_t context[CONTEXT_BYTES];
    uint8_t iv[12];    /* write_iv, as secret as the key */
    uint64_t sequence; /* number of the next record: of some 2^24 full ones a key must be updated */
};

static size_t length_of(const uint8_t record[HEADER])
{
    return (size_t)record[3] << 8 | record[4];
}

/* nonce = write_iv xor sequence number, right-aligned */
static void make_nonce(uint8_t nonce[12], const struct tls13 *one)
{
    memcpy(nonce, one->iv, 12);
    for (int i = 0; i < 8; i++)
        nonce[11 - i] ^= (uint8_t)(one->sequence >> 8 * i);
}

void tls13_begin(struct tls13 *one, const uint8_t key[16], const uint8_t iv[12])
{
    KERNEL(init)(one->context, key);
    memcpy(one->iv, iv, sizeof one->iv);
    one->sequence = 0;
}

/* Write the record of len bytes of content and so many of padding. The content may lie anywhere.
 * Return the bytes of the record; 0, and nothing is written, if the content is none that may be
 * sent or the room too small, or if every number has been used. */
size_t tls13_protect(struct tls13 *one, uint8_t type, const uint8_t *content, size_t len,
                     size_t padding, uint8_t *record, size_t room)
{
    uint8_t nonce[12], *text = record + HEADER;
    size_t count;

    if (len > CONTENT_MAX || padding > CONTENT_MAX - len || one->sequence == UINT64_MAX)
        return 0;
    if (len == 0 && type != APPLICATION_DATA)
        return 0;
    count = len + 1 + padding;
    if (room < HEADER + count + TAG)
        return 0;
    memmove(text, content, len);
    text[len] = type;
    memset(text + len + 1, 0, padding);
    record[0] = APPLICATION_DATA;
    record[1] = record[2] = 3;
    record[3] = (uint8_t)((count + TAG) >> 8);
    record[4] = (uint8_t)(count + TAG);
    make_nonce(nonce, one);
    /* In place; the additional data are the header. */
    if (KERNEL(seal)(one->context, nonce, sizeof nonce, record, HEADER, text, count, text,
                     text + count) != 0)
        return 0;
    one->sequence++;
    return HEADER + count + TAG;
}

/* Read a record of so many bytes into content, which is record + HEADER or does not overlap it;
 * room must do for type and padding too. Return 0, *type and *len; or an alert, and content holds
 * nothing of a record that was forged. */
int tls13_unprotect(struct tls13 *one, const uint8_t *record, size_t bytes, uint8_t *type,
                    uint8_t *content, size_t room, size_t *len)
{
    uint8_t nonce[12];
    size_t count;

    if (bytes < HEADER || bytes - HEADER != length_of(record))
        return DECODE_ERROR;
    if (record[0] != APPLICATION_DATA)
        return UNEXPECTED_MESSAGE;
    if (bytes > HEADER + LENGTH_MAX)
        return RECORD_OVERFLOW;
    if (bytes < HEADER + 1 + TAG)
        return DECODE_ERROR;
    count = bytes - HEADER - TAG;
    if (count > room || one->sequence == UINT64_MAX)
        return INTERNAL_ERROR;
    make_nonce(nonce, one);
    if (KERNEL(open)(one->context, nonce, sizeof nonce, record, HEADER, record + HEADER, count,
                     content, record + HEADER + count, TAG) != 0)
        return BAD_RECORD_MAC;
    one->sequence++;
    if (count > CONTENT_MAX + 1)
        return RECORD_OVERFLOW;
    /* The type is the last byte that is not zero. How long this takes says how long the padding
     * is: RFC 8446, appendix E.3. */
    while (count && content[count - 1] == 0)
        count--;
    if (count == 0)
        return UNEXPECTED_MESSAGE;
    *type = content[--count];
    if (count == 0 && (*type == ALERT || *type == HANDSHAKE))
        return UNEXPECTED_MESSAGE;
    *len = count;
    return 0;
}

/* The features that the header names beside the kernel. Ask once per process. */
static int cpu_has_it(void)
{
    return __builtin_cpu_supports("aes") && __builtin_cpu_supports("pclmul") &&
           __builtin_cpu_supports("avx");
}

int main(void)
{
    /* RFC 8448, section 3: "{client} send application_data record" and its keys. */
    static const uint8_t key[16] = {0x17, 0x42, 0x2d, 0xda, 0x59, 0x6e, 0xd5, 0xd9,
                                    0xac, 0xd8, 0x90, 0xe3, 0xc6, 0x3f, 0x50, 0x51};
    static const uint8_t iv[12] = {0x5b, 0x78, 0x92, 0x3d, 0xee, 0x08,
                                   0x57, 0x90, 0x33, 0xe5, 0x23, 0xd9};
    static const uint8_t expected[72] = {
        0x17, 0x03, 0x03, 0x00, 0x43, 0xa2, 0x3f, 0x70, 0x54, 0xb6, 0x2c, 0x94, 0xd0, 0xaf, 0xfa,
        0xfe, 0x82, 0x28, 0xba, 0x55, 0xcb, 0xef, 0xac, 0xea, 0x42, 0xf9, 0x14, 0xaa, 0x66, 0xbc,
        0xab, 0x3f, 0x2b, 0x98, 0x19, 0xa8, 0xa5, 0xb4, 0x6b, 0x39, 0x5b, 0xd5, 0x4a, 0x9a, 0x20,
        0x44, 0x1e, 0x2b, 0x62, 0x97, 0x4e, 0x1f, 0x5a, 0x62, 0x92, 0xa2, 0x97, 0x70, 0x14, 0xbd,
        0x1e, 0x3d, 0xea, 0xe6, 0x3a, 0xee, 0xbb, 0x21, 0x69, 0x49, 0x15, 0xe4};
    struct tls13 client, server;
    uint8_t payload[50], record[HEADER + LENGTH_MAX], type;
    size_t bytes, len;

    if (!cpu_has_it()) {
        fputs("this CPU lacks AES-NI, PCLMULQDQ or AVX\n", stderr);
        return 77;
    }
    for (size_t i = 0; i < sizeof payload; i++)
        payload[i] = (uint8_t)i;
    tls13_begin(&client, key, iv);
    tls13_begin(&server, key, iv);
    bytes = tls13_protect(&client, APPLICATION_DATA, payload, sizeof payload, 0, record,
                          sizeof record);
    for (size_t i = 0; i < bytes; i++)
        printf("%02x", record[i]);
    puts("");
    if (bytes != sizeof expected || memcmp(record, expected, bytes) != 0)
        return 1;

    /* In place; the record is used up. */
    if (tls13_unprotect(&server, record, bytes, &type, record + HEADER, sizeof record - HEADER,
                        &len))
        return 1;
    if (type != APPLICATION_DATA || len != sizeof payload ||
        memcmp(record + HEADER, payload, len) != 0)
        return 1;

    /* The server waits for record 1: record 0 again is refused, and no text comes out. */
    memcpy(record, expected, sizeof expected);
    if (tls13_unprotect(&server, record, bytes, &type, record + HEADER, sizeof record - HEADER,
                        &len) != BAD_RECORD_MAC)
        return 1;
    for (size_t i = 0; i < sizeof payload; i++)
        if (record[HEADER + i])
            return 1;
    return 0;
}
