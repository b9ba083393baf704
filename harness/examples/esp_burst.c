/* A burst of ESP packets under AES-128-GCM, sealed by one call and opened by another: RFC 4303,
 * RFC 4106; sequence numbers of 32 bits, ICVs of 16 bytes.
 *
 *   SPI 4 | sequence number 4 | IV 8 | ciphertext | ICV 16
 *
 * docs/gcm-many.md says how to build and run it. esp_packet.c shows padding and trailers.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "ghashgen.h"

/* Change this name for another kernel. */
#define KERNEL(function) gcm128_avx512_k_clmul1_x16_alike_##function
#define CONTEXT_BYTES GCM128_AVX512_K_CLMUL1_X16_ALIKE_CTX_BYTES
#define CONTEXT_ALIGN GCM128_AVX512_K_CLMUL1_X16_ALIKE_CTX_BEST_ALIGN

enum { HEADER = 8, IV = 8, TEXT = HEADER + IV, TAG = 16, BURST = 32 };

/* One packet of a ring: bytes counts all but the ICV, for which there must be room behind them. */
struct packet {
    uint8_t *at;
    size_t bytes;
};

/* What a call needs beside the packets. It must stay where it is until the call returns. */
struct burst {
    struct ghashgen_message messages[BURST];
    uint8_t nonces[BURST][12];
};

/* Describe count packets, at most BURST. AAD and text are the packet's own bytes; the text is
 * processed in place. nonce = salt || IV. */
static void describe(struct burst *burst, const uint8_t salt[4], const struct packet *packets,
                     size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint8_t *at = packets[i].at, *text = at + TEXT;
        size_t len = packets[i].bytes - TEXT;

        memcpy(burst->nonces[i], salt, 4);
        memcpy(burst->nonces[i] + 4, at + HEADER, IV);
        burst->messages[i] = (struct ghashgen_message){
            .iv = burst->nonces[i], .iv_len = sizeof burst->nonces[i],
            .aad = at, .aad_len = HEADER,
            .in = text, .out = text, .len = len,
            .tag = text + len, .tag_len = TAG,
        };
    }
}

/* Seal count packets, at most BURST. Return how many were sealed: all, if no length is invalid. */
size_t esp_seal_burst(const void *context, const uint8_t salt[4], struct packet *packets, size_t count)
{
    struct burst burst;
    size_t sealed = 0;

    describe(&burst, salt, packets, count);
    KERNEL(seal_many)(context, burst.messages, count);
    for (size_t i = 0; i < count; i++)
        sealed += burst.messages[i].status == 0;
    return sealed;
}

/* Open count packets, at most BURST. Return one bit for each packet, the first the lowest: 1 if it is
 * genuine. Drop the others; all of their text is zero. */
uint32_t esp_open_burst(const void *context, const uint8_t salt[4], struct packet *packets, size_t count)
{
    struct burst burst;
    uint32_t genuine = 0;

    describe(&burst, salt, packets, count);
    KERNEL(open_many)(context, burst.messages, count);
    for (size_t i = 0; i < count; i++)
        genuine |= (uint32_t)(burst.messages[i].status == 0) << i;
    return genuine;
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
    /* D. McGrew, J. Viega, The Galois/Counter Mode of Operation, test case 4, is packet 0: its IV of
     * 12 bytes is salt || IV. Its AAD differs, so only its text is compared. */
    static const uint8_t key[16] = {0xfe, 0xff, 0xe9, 0x92, 0x86, 0x65, 0x73, 0x1c,
                                    0x6d, 0x6a, 0x8f, 0x94, 0x67, 0x30, 0x83, 0x08};
    static const uint8_t salt[4] = {0xca, 0xfe, 0xba, 0xbe};
    static const uint8_t iv[IV] = {0xfa, 0xce, 0xdb, 0xad, 0xde, 0xca, 0xf8, 0x88};
    static const uint8_t plain[16] = {0xd9, 0x31, 0x32, 0x25, 0xf8, 0x84, 0x06, 0xe5,
                                      0xa5, 0x59, 0x09, 0xc5, 0xaf, 0xf5, 0x26, 0x9a};
    static const uint8_t expected[16] = {0x42, 0x83, 0x1e, 0xc2, 0x21, 0x77, 0x74, 0x24,
                                         0x4b, 0x72, 0x21, 0xb7, 0x84, 0xd0, 0xd4, 0x9c};
    static _Alignas(CONTEXT_ALIGN) uint8_t context[CONTEXT_BYTES];
    static uint8_t ring[BURST][2048];
    struct packet packets[BURST];
    uint32_t genuine;

    if (!cpu_has_it()) {
        fputs("this CPU lacks AVX-512, VAES, VPCLMULQDQ or BMI2\n", stderr);
        return 77;
    }
    KERNEL(init)(context, key);
    for (size_t i = 0; i < BURST; i++) {
        /* Sizes of all kinds; the IV is the number, which must never repeat under a key. */
        packets[i] = (struct packet){ring[i], TEXT + (i < 8 ? 64 : 52 * i)};
        ring[i][7] = (uint8_t)(i + 1);
        ring[i][TEXT - 1] = (uint8_t)(i + 1);
        memset(ring[i] + TEXT, (int)i, packets[i].bytes - TEXT);
    }
    memcpy(ring[0] + HEADER, iv, sizeof iv);
    memcpy(ring[0] + TEXT, plain, sizeof plain);
    if (esp_seal_burst(context, salt, packets, BURST) != BURST)
        return 1;
    if (memcmp(ring[0] + TEXT, expected, sizeof expected) != 0)
        return 1;

    /* One packet was changed on its way. */
    ring[5][TEXT + 3] ^= 1;
    genuine = esp_open_burst(context, salt, packets, BURST);
    printf("%08x\n", (unsigned)genuine);
    for (size_t i = 1; i < BURST; i++)
        for (size_t j = TEXT; j < packets[i].bytes; j++)
            if (ring[i][j] != (i == 5 ? 0 : i))
                return 1;
    return memcmp(ring[0] + TEXT, plain, sizeof plain) != 0 || genuine != (UINT32_MAX ^ 1u << 5);
}
