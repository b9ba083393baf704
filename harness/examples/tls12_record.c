/* Records of TLS 1.2 under AES-128-GCM: RFC 5246, section 6.2.3.3; RFC 5288, section 3.
 *
 *   type 1 | version 2 | length 2 | explicit nonce 8 | ciphertext | tag 16
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
    APPLICATION_DATA = 23,
    VERSION = 0x0303,
    HEADER = 5,
    EXPLICIT = 8,
    TAG = 16,
    TEXT = HEADER + EXPLICIT, /* where the text begins in a record */
    OVERHEAD = TEXT + TAG,    /* bytes of a record beside the text */
    TEXT_MAX = 1 << 14,       /* RFC 5246, section 6.2.1 */
};

/* What unprotect returns unless 0: the alert to send. Each is fatal. */
enum {
    BAD_RECORD_MAC = 20,
    RECORD_OVERFLOW = 22,
    DECODE_ERROR = 50,
    PROTOCOL_VERSION = 70,
    INTERNAL_ERROR = 80,
};

/* One direction of a connection. */
struct tls12 {
    _Alignas(CONTEXT_ALIGN) uint8_t context[CONTEXT_BYTES];
    uint8_t salt[4];   /* client_write_IV or server_write_IV */
    uint64_t sequence; /* number of the next record */
};

static void put(uint8_t *out, uint64_t number, size_t bytes)
{
    while (bytes--) {
        out[bytes] = (uint8_t)number;
        number >>= 8;
    }
}

static size_t length_of(const uint8_t record[HEADER])
{
    return (size_t)record[3] << 8 | record[4];
}

/* nonce = salt || explicit part */
static void make_nonce(uint8_t nonce[12], const struct tls12 *one, const uint8_t *record)
{
    memcpy(nonce, one->salt, 4);
    memcpy(nonce + 4, record + HEADER, EXPLICIT);
}

/* additional_data = seq_num || type || version || length of the text */
static void make_aad(uint8_t aad[13], const struct tls12 *one, const uint8_t *record, size_t len)
{
    put(aad, one->sequence, 8);
    memcpy(aad + 8, record, 3);
    put(aad + 11, len, 2);
}

void tls12_begin(struct tls12 *one, const uint8_t key[16], const uint8_t salt[4])
{
    KERNEL(init)(one->context, key);
    memcpy(one->salt, salt, sizeof one->salt);
    one->sequence = 0;
}

/* Write the record of len bytes of text. text is record + TEXT or does not overlap the record.
 * Return the bytes of the record; 0, and nothing is written, if the text is none that may be sent
 * or the room too small, or if every number has been used: then the keys must be new. */
size_t tls12_protect(struct tls12 *one, uint8_t type, const uint8_t *text, size_t len,
                     uint8_t *record, size_t room)
{
    uint8_t nonce[12], aad[13];

    if (len > TEXT_MAX || room < len + OVERHEAD || one->sequence == UINT64_MAX)
        return 0;
    if (len == 0 && type != APPLICATION_DATA)
        return 0;
    record[0] = type;
    put(record + 1, VERSION, 2);
    put(record + 3, EXPLICIT + len + TAG, 2);
    /* The record's number, so that no nonce repeats under a key. */
    put(record + HEADER, one->sequence, EXPLICIT);
    make_nonce(nonce, one, record);
    make_aad(aad, one, record, len);
    if (KERNEL(seal)(one->context, nonce, sizeof nonce, aad, sizeof aad, text, len, record + TEXT,
                     record + TEXT + len) != 0)
        return 0;
    one->sequence++;
    return len + OVERHEAD;
}

/* Read a record of so many bytes into text, which is record + TEXT or does not overlap it.
 * Return 0, *type and *len; or an alert, and text holds nothing of the record. */
int tls12_unprotect(struct tls12 *one, const uint8_t *record, size_t bytes, uint8_t *type,
                    uint8_t *text, size_t room, size_t *len)
{
    uint8_t nonce[12], aad[13];
    size_t count;

    if (bytes < HEADER || bytes - HEADER != length_of(record))
        return DECODE_ERROR;
    if (record[1] != VERSION >> 8 || record[2] != (VERSION & 0xFF))
        return PROTOCOL_VERSION;
    if (bytes < OVERHEAD)
        return DECODE_ERROR;
    count = bytes - OVERHEAD;
    if (count > TEXT_MAX)
        return RECORD_OVERFLOW;
    if (count > room || one->sequence == UINT64_MAX)
        return INTERNAL_ERROR;
    make_nonce(nonce, one, record);
    make_aad(aad, one, record, count);
    if (KERNEL(open)(one->context, nonce, sizeof nonce, aad, sizeof aad, record + TEXT, count, text,
                     record + TEXT + count, TAG) != 0)
        return BAD_RECORD_MAC;
    one->sequence++;
    *type = aad[8];
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
    static const uint8_t key[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    static const uint8_t salt[4] = {0xA0, 0xA1, 0xA2, 0xA3};
    static const char request[] = "GET / HTTP/1.1\r\nHost: example.org\r\n\r\n";
    const size_t sent = sizeof request - 1;
    struct tls12 client, server;
    uint8_t record[OVERHEAD + TEXT_MAX], type;
    size_t bytes, len;

    if (!cpu_has_it()) {
        fputs("this CPU lacks AES-NI, PCLMULQDQ or AVX\n", stderr);
        return 77;
    }
    tls12_begin(&client, key, salt);
    tls12_begin(&server, key, salt);
    bytes = tls12_protect(&client, APPLICATION_DATA, (const uint8_t *)request, sent, record,
                          sizeof record);
    for (size_t i = 0; i < bytes; i++)
        printf("%02x", record[i]);
    puts("");

    /* In place; the record is used up. */
    if (tls12_unprotect(&server, record, bytes, &type, record + TEXT, sizeof record - TEXT, &len))
        return 1;
    if (type != APPLICATION_DATA || len != sent || memcmp(record + TEXT, request, len) != 0)
        return 1;

    /* A changed record is refused, and no text comes out. */
    bytes = tls12_protect(&client, APPLICATION_DATA, (const uint8_t *)request, sent, record,
                          sizeof record);
    record[bytes - 1] ^= 1;
    if (tls12_unprotect(&server, record, bytes, &type, record + TEXT, sizeof record - TEXT, &len) !=
        BAD_RECORD_MAC)
        return 1;
    for (size_t i = 0; i < sent; i++)
        if (record[TEXT + i])
            return 1;
    return 0;
}
