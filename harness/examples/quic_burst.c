/* A burst of QUIC packets under AES-128-GCM, sealed by one call and opened by another: RFC 9001,
 * section 5.3.
 *
 *   header, packet number included | ciphertext | tag 16
 *
 * This is packet protection alone. Header protection (section 5.4) is not here: apply it after
 * sealing, and remove it before opening. docs/gcm-many.md says how to build and run the program.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "ghashgen.h"

/* Change this name for another kernel. */
#define KERNEL(function) gcm128_avx512_k_clmul1_x16_alike_##function
#define CONTEXT_BYTES GCM128_AVX512_K_CLMUL1_X16_ALIKE_CTX_BYTES
#define CONTEXT_ALIGN GCM128_AVX512_K_CLMUL1_X16_ALIKE_CTX_BEST_ALIGN

enum { NONCE = 12, TAG = 16, BURST = 32 };

/* One packet. The tag follows the text, so there must be room for it. */
struct packet {
    uint64_t number; /* the full packet number; it must never repeat under a key */
    uint8_t *at;
    size_t header, text; /* bytes; the header ends with the packet number */
};

/* What a call needs beside the packets. It must stay where it is until the call returns. */
struct burst {
    struct ghashgen_message messages[BURST];
    uint8_t nonces[BURST][NONCE];
};

/* Describe count packets, at most BURST. The AAD is the header; the text is processed in place. The
 * nonce is the connection's IV, its last 8 bytes XORed with the packet number, high byte first. */
static void describe(struct burst *burst, const uint8_t iv[NONCE], const struct packet *packets,
                     size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct packet *p = &packets[i];
        uint8_t *text = p->at + p->header;

        memcpy(burst->nonces[i], iv, NONCE);
        for (int byte = 0; byte < 8; byte++)
            burst->nonces[i][NONCE - 1 - byte] ^= (uint8_t)(p->number >> 8 * byte);
        burst->messages[i] = (struct ghashgen_message){
            .iv = burst->nonces[i], .iv_len = NONCE,
            .aad = p->at, .aad_len = p->header,
            .in = text, .out = text, .len = p->text,
            .tag = text + p->text, .tag_len = TAG,
        };
    }
}

/* Return one bit for each of count packets, the first the lowest: 1 if its status is 0. */
static uint32_t done(const struct burst *burst, size_t count)
{
    uint32_t bits = 0;

    for (size_t i = 0; i < count; i++)
        bits |= (uint32_t)(burst->messages[i].status == 0) << i;
    return bits;
}

/* Seal count packets, at most BURST. Bit i of the result is 1 if packet i is sealed. */
uint32_t quic_seal_burst(const void *context, const uint8_t iv[NONCE], const struct packet *packets,
                         size_t count)
{
    struct burst burst;

    describe(&burst, iv, packets, count);
    KERNEL(seal_many)(context, burst.messages, count);
    return done(&burst, count);
}

/* Open count packets, at most BURST. Bit i of the result is 1 if packet i is genuine. Drop the
 * others; all of their text is zero. */
uint32_t quic_open_burst(const void *context, const uint8_t iv[NONCE], const struct packet *packets,
                         size_t count)
{
    struct burst burst;

    describe(&burst, iv, packets, count);
    KERNEL(open_many)(context, burst.messages, count);
    return done(&burst, count);
}

/* The features that the header names beside the kernel. Ask once per process. */
static int cpu_has_it(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("vaes") && __builtin_cpu_supports("vpclmulqdq") &&
           __builtin_cpu_supports("bmi2");
}

int main(void)
{
    /* Packet 0 is the server's Initial of RFC 9001, A.3, before header protection. A real connection
     * sends its other packets under other keys. */
    static const uint8_t key[16] = {0xcf, 0x3a, 0x53, 0x31, 0x65, 0x3c, 0x36, 0x4c,
                                    0x88, 0xf0, 0xf3, 0x79, 0xb6, 0x06, 0x7e, 0x37};
    static const uint8_t iv[NONCE] = {0x0a, 0xc1, 0x49, 0x3c, 0xa1, 0x90,
                                      0x58, 0x53, 0xb0, 0xbb, 0xa0, 0x3e};
    static const uint8_t header[] = {
        0xc1, 0x00, 0x00, 0x00, 0x01, 0x00, 0x08, 0xf0, 0x67, 0xa5, 0x50, 0x2a, 0x42, 0x62,
        0xb5, 0x00, 0x40, 0x75, 0x00, 0x01};
    static const uint8_t plain[] = {
        0x02, 0x00, 0x00, 0x00, 0x00, 0x06, 0x00, 0x40, 0x5a, 0x02, 0x00, 0x00, 0x56, 0x03,
        0x03, 0xee, 0xfc, 0xe7, 0xf7, 0xb3, 0x7b, 0xa1, 0xd1, 0x63, 0x2e, 0x96, 0x67, 0x78,
        0x25, 0xdd, 0xf7, 0x39, 0x88, 0xcf, 0xc7, 0x98, 0x25, 0xdf, 0x56, 0x6d, 0xc5, 0x43,
        0x0b, 0x9a, 0x04, 0x5a, 0x12, 0x00, 0x13, 0x01, 0x00, 0x00, 0x2e, 0x00, 0x33, 0x00,
        0x24, 0x00, 0x1d, 0x00, 0x20, 0x9d, 0x3c, 0x94, 0x0d, 0x89, 0x69, 0x0b, 0x84, 0xd0,
        0x8a, 0x60, 0x99, 0x3c, 0x14, 0x4e, 0xca, 0x68, 0x4d, 0x10, 0x81, 0x28, 0x7c, 0x83,
        0x4d, 0x53, 0x11, 0xbc, 0xf3, 0x2b, 0xb9, 0xda, 0x1a, 0x00, 0x2b, 0x00, 0x02, 0x03,
        0x04};
    static const uint8_t expected[] = { /* ciphertext and tag */
        0x5a, 0x48, 0x2c, 0xd0, 0x99, 0x1c, 0xd2, 0x5b, 0x0a, 0xac, 0x40, 0x6a, 0x58, 0x16,
        0xb6, 0x39, 0x41, 0x00, 0xf3, 0x7a, 0x1c, 0x69, 0x79, 0x75, 0x54, 0x78, 0x0b, 0xb3,
        0x8c, 0xc5, 0xa9, 0x9f, 0x5e, 0xde, 0x4c, 0xf7, 0x3c, 0x3e, 0xc2, 0x49, 0x3a, 0x18,
        0x39, 0xb3, 0xdb, 0xcb, 0xa3, 0xf6, 0xea, 0x46, 0xc5, 0xb7, 0x68, 0x4d, 0xf3, 0x54,
        0x8e, 0x7d, 0xde, 0xb9, 0xc3, 0xbf, 0x9c, 0x73, 0xcc, 0x3f, 0x3b, 0xde, 0xd7, 0x4b,
        0x56, 0x2b, 0xfb, 0x19, 0xfb, 0x84, 0x02, 0x2f, 0x8e, 0xf4, 0xcd, 0xd9, 0x37, 0x95,
        0xd7, 0x7d, 0x06, 0xed, 0xbb, 0x7a, 0xaf, 0x2f, 0x58, 0x89, 0x18, 0x50, 0xab, 0xbd,
        0xca, 0x3d, 0x20, 0x39, 0x8c, 0x27, 0x64, 0x56, 0xcb, 0xc4, 0x21, 0x58, 0x40, 0x7d,
        0xd0, 0x74, 0xee};
    static _Alignas(CONTEXT_ALIGN) uint8_t context[CONTEXT_BYTES];
    static uint8_t ring[BURST][2048];
    struct packet packets[BURST];
    uint32_t genuine;

    if (!cpu_has_it()) {
        fputs("this CPU lacks AVX-512, VAES, VPCLMULQDQ or BMI2\n", stderr);
        return 77;
    }
    KERNEL(init)(context, key);
    packets[0] = (struct packet){1, ring[0], sizeof header, sizeof plain};
    memcpy(ring[0], header, sizeof header);
    memcpy(ring[0] + sizeof header, plain, sizeof plain);
    for (size_t i = 1; i < BURST; i++) {
        /* A short header: flags, a connection ID of 8 bytes, and the number's last 4 bytes. */
        packets[i] = (struct packet){i + 1, ring[i], 1 + 8 + 4, i < 16 ? 1200 : 33 * i};
        ring[i][0] = 0x43;
        ring[i][12] = (uint8_t)(i + 1);
        memset(ring[i] + packets[i].header, (int)i, packets[i].text);
    }
    if (quic_seal_burst(context, iv, packets, BURST) != UINT32_MAX)
        return 1;
    if (memcmp(ring[0] + sizeof header, expected, sizeof expected) != 0)
        return 1;

    /* One header was changed on its way. */
    ring[9][3] ^= 1;
    genuine = quic_open_burst(context, iv, packets, BURST);
    printf("%08x\n", (unsigned)genuine);
    for (size_t i = 1; i < BURST; i++)
        for (size_t j = 0; j < packets[i].text; j++)
            if (ring[i][packets[i].header + j] != (i == 9 ? 0 : i))
                return 1;
    return memcmp(ring[0] + sizeof header, plain, sizeof plain) != 0 || genuine != (UINT32_MAX ^ 1u << 9);
}
