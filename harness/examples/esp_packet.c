/* ESP packets under AES-128-GCM: RFC 4303, section 2; RFC 4106.
 *
 *   SPI 4 | sequence number 4 | IV 8 | ciphertext of (payload | padding | its length 1 |
 *   next header 1) | ICV 8, 12 or 16
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
    HEADER = 8,
    IV = 8,
    TEXT = HEADER + IV, /* where the payload begins in a packet */
    TRAILER = 2,
    TAG = 16,
    PAYLOAD_MAX = 65535,
};

/* A security association, in one direction. */
struct esp {
    _Alignas(CONTEXT_ALIGN) uint8_t context[CONTEXT_BYTES];
    uint8_t salt[4];
    uint32_t spi;
    int extended;      /* sequence numbers of 64 bits, of which 32 are sent */
    size_t icv;        /* bytes of the tag that are sent */
    uint64_t sequence; /* of the last packet sent */
};

static void put(uint8_t *out, uint64_t number, size_t bytes)
{
    while (bytes--) {
        out[bytes] = (uint8_t)number;
        number >>= 8;
    }
}

/* nonce = salt || IV */
static void make_nonce(uint8_t nonce[12], const struct esp *sa, const uint8_t *packet)
{
    memcpy(nonce, sa->salt, 4);
    memcpy(nonce + 4, packet + HEADER, IV);
}

/* AAD = SPI || sequence number, of 4 bytes or 8: RFC 4106, section 5. Return its bytes. */
static size_t make_aad(uint8_t aad[12], const struct esp *sa, const uint8_t *packet, uint32_t high)
{
    size_t middle = sa->extended ? 4 : 0;

    memcpy(aad, packet, 4);
    put(aad + 4, high, middle);
    memcpy(aad + 4 + middle, packet + 4, 4);
    return 8 + middle;
}

/* Return 0, or -1 if an ICV has no such length (RFC 4106, section 6). */
int esp_begin(struct esp *sa, const uint8_t key[16], const uint8_t salt[4], uint32_t spi,
              int extended, size_t icv)
{
    if (icv != 8 && icv != 12 && icv != 16)
        return -1;
    KERNEL(init)(sa->context, key);
    memcpy(sa->salt, salt, sizeof sa->salt);
    sa->spi = spi;
    sa->extended = extended;
    sa->icv = icv;
    sa->sequence = 0;
    return 0;
}

/* Write the packet of this number and IV, which must never repeat under this key. This is for known
 * answers; otherwise call esp_protect. The payload may lie anywhere. Return the bytes of the packet;
 * 0, and nothing is written, if the payload is too long or the room too small. */
size_t esp_seal(const struct esp *sa, uint64_t sequence, uint64_t iv, uint8_t next_header,
                const uint8_t *payload, size_t len, uint8_t *packet, size_t room)
{
    uint8_t nonce[12], aad[12], tag[TAG], *text = packet + TEXT;
    size_t padding, count, aad_bytes;

    if (len > PAYLOAD_MAX)
        return 0;
    /* The trailer ends at a multiple of 4 bytes: RFC 4303, section 2.4. */
    padding = (0 - (len + TRAILER)) % 4;
    count = len + padding + TRAILER;
    if (room < TEXT + count + sa->icv)
        return 0;
    memmove(text, payload, len);
    for (size_t i = 0; i < padding; i++)
        text[len + i] = (uint8_t)(i + 1);
    text[count - 2] = (uint8_t)padding;
    text[count - 1] = next_header;
    put(packet, sa->spi, 4);
    put(packet + 4, sequence, 4);
    put(packet + HEADER, iv, IV);
    make_nonce(nonce, sa, packet);
    aad_bytes = make_aad(aad, sa, packet, (uint32_t)(sequence >> 32));
    if (KERNEL(seal)(sa->context, nonce, sizeof nonce, aad, aad_bytes, text, count, text, tag) != 0)
        return 0;
    memcpy(text + count, tag, sa->icv);
    return TEXT + count + sa->icv;
}

/* Write the next packet, as esp_seal does; 0 too if every number has been used. */
size_t esp_protect(struct esp *sa, uint8_t next_header, const uint8_t *payload, size_t len,
                   uint8_t *packet, size_t room)
{
    uint64_t next = sa->sequence + 1;
    size_t bytes;

    if (sa->sequence == (sa->extended ? UINT64_MAX : UINT32_MAX))
        return 0;
    /* The IV is the number: it never comes twice (RFC 4106, section 3.1). */
    bytes = esp_seal(sa, next, next, next_header, payload, len, packet, room);
    if (bytes)
        sa->sequence = next;
    return bytes;
}

/* Read a packet of so many bytes into payload, which is packet + TEXT or does not overlap it; room
 * must do for padding and trailer too. high is the upper half of an extended sequence number, which
 * the receiver infers from its window against replays (RFC 4303, appendix A); the window itself is
 * the caller's, who moves it only if this returns 0. Return 0, *next_header and *len; or -1: drop
 * the packet; payload holds nothing of a forged one. */
int esp_unprotect(const struct esp *sa, uint32_t high, const uint8_t *packet, size_t bytes,
                  uint8_t *next_header, uint8_t *payload, size_t room, size_t *len)
{
    uint8_t nonce[12], aad[12], spi[4];
    size_t count, padding, aad_bytes;

    if (bytes < TEXT + TRAILER + sa->icv)
        return -1;
    count = bytes - TEXT - sa->icv;
    put(spi, sa->spi, 4);
    if (count % 4 != 0 || count > room || memcmp(packet, spi, sizeof spi) != 0)
        return -1;
    make_nonce(nonce, sa, packet);
    aad_bytes = make_aad(aad, sa, packet, high);
    if (KERNEL(open)(sa->context, nonce, sizeof nonce, aad, aad_bytes, packet + TEXT, count,
                     payload, packet + TEXT + count, sa->icv) != 0)
        return -1;
    padding = payload[count - 2];
    if (padding > count - TRAILER)
        return -1;
    for (size_t i = 0; i < padding; i++)
        if (payload[count - TRAILER - padding + i] != i + 1)
            return -1;
    *next_header = payload[count - 1];
    *len = count - TRAILER - padding;
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
    /* D. McGrew, Test Cases for the use of GCM and GMAC in IPsec ESP, draft-mcgrew-gcm-test-01,
     * section 4, the first case: extended sequence numbers. */
    static const uint8_t key[16] = {0x4c, 0x80, 0xcd, 0xef, 0xbb, 0x5d, 0x10, 0xda,
                                    0x90, 0x6a, 0xc7, 0x3c, 0x36, 0x13, 0xa6, 0x34};
    static const uint8_t salt[4] = {0x2e, 0x44, 0x3b, 0x68};
    static const uint64_t sequence = 0x8765432100000000, iv = 0x4956ed7e3b244cfe;
    static const uint8_t payload[68] = {
        0x45, 0x00, 0x00, 0x48, 0x69, 0x9a, 0x00, 0x00, 0x80, 0x11, 0x4d, 0xb7, 0xc0, 0xa8,
        0x01, 0x02, 0xc0, 0xa8, 0x01, 0x01, 0x0a, 0x9b, 0xf1, 0x56, 0x38, 0xd3, 0x01, 0x00,
        0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x04, 0x5f, 0x73, 0x69, 0x70, 0x04,
        0x5f, 0x75, 0x64, 0x70, 0x03, 0x73, 0x69, 0x70, 0x09, 0x63, 0x79, 0x62, 0x65, 0x72,
        0x63, 0x69, 0x74, 0x79, 0x02, 0x64, 0x6b, 0x00, 0x00, 0x21, 0x00, 0x01};
    static const uint8_t expected[104] = {
        0x00, 0x00, 0x43, 0x21, 0x00, 0x00, 0x00, 0x00, 0x49, 0x56, 0xed, 0x7e, 0x3b, 0x24, 0x4c,
        0xfe, 0xfe, 0xcf, 0x53, 0x7e, 0x72, 0x9d, 0x5b, 0x07, 0xdc, 0x30, 0xdf, 0x52, 0x8d, 0xd2,
        0x2b, 0x76, 0x8d, 0x1b, 0x98, 0x73, 0x66, 0x96, 0xa6, 0xfd, 0x34, 0x85, 0x09, 0xfa, 0x13,
        0xce, 0xac, 0x34, 0xcf, 0xa2, 0x43, 0x6f, 0x14, 0xa3, 0xf3, 0xcf, 0x65, 0x92, 0x5b, 0xf1,
        0xf4, 0xa1, 0x3c, 0x5d, 0x15, 0xb2, 0x1e, 0x18, 0x84, 0xf5, 0xff, 0x62, 0x47, 0xae, 0xab,
        0xb7, 0x86, 0xb9, 0x3b, 0xce, 0x61, 0xbc, 0x17, 0xd7, 0x68, 0xfd, 0x97, 0x32, 0x45, 0x90,
        0x18, 0x14, 0x8f, 0x6c, 0xbe, 0x72, 0x2f, 0xd0, 0x47, 0x96, 0x56, 0x2d, 0xfd, 0xb4};
    struct esp sa;
    uint8_t packet[256], next_header;
    size_t bytes, len;

    if (!cpu_has_it()) {
        fputs("this CPU lacks AES-NI, PCLMULQDQ or AVX\n", stderr);
        return 77;
    }
    if (esp_begin(&sa, key, salt, 0x4321, 1, 16) != 0)
        return 1;
    bytes = esp_seal(&sa, sequence, iv, 1, payload, sizeof payload, packet, sizeof packet);
    for (size_t i = 0; i < bytes; i++)
        printf("%02x", packet[i]);
    puts("");
    if (bytes != sizeof expected || memcmp(packet, expected, bytes) != 0)
        return 1;

    /* In place; the packet is used up. */
    if (esp_unprotect(&sa, (uint32_t)(sequence >> 32), packet, bytes, &next_header, packet + TEXT,
                      sizeof packet - TEXT, &len))
        return 1;
    if (next_header != 1 || len != sizeof payload || memcmp(packet + TEXT, payload, len) != 0)
        return 1;

    /* With another upper half of the number it is refused, and no text comes out. */
    memcpy(packet, expected, sizeof expected);
    if (!esp_unprotect(&sa, 0, packet, bytes, &next_header, packet + TEXT, sizeof packet - TEXT,
                       &len))
        return 1;
    for (size_t i = 0; i < sizeof payload; i++)
        if (packet[TEXT + i])
            return 1;
    return 0;
}
