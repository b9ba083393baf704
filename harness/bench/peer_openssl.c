/*
 * OpenSSL's GHASH, by its internal entry points (crypto/modes/asm/ghash-x86_64.pl): the object is
 * taken out of the static library, because they are not exported. They take whole blocks; a last
 * partial block is padded here, as cheaply as C can.
 */
#include <cpuid.h>

#include "../cpu.h"
#include "../reference.h"
#include "loops.h"

typedef void openssl_init(struct block table[16], const uint64_t h[2]);
typedef void openssl_ghash(uint8_t x[16], const struct block table[16], const uint8_t *in,
                           size_t len);

openssl_init gcm_init_avx, gcm_init_clmul;
openssl_ghash gcm_ghash_avx, gcm_ghash_clmul;

/* What that object reads to choose a path: CPUID.1:EDX, ECX, then CPUID.7:EBX, ECX. */
unsigned OPENSSL_ia32cap_P[4];

static inline void init(openssl_init *entry, struct block *table, const uint8_t *h)
{
    const uint64_t words[2] = {load64_be(h), load64_be(h + 8)};
    entry(table, words);
}

static inline void update(openssl_ghash *entry, const struct block *table, uint8_t *x,
                          const uint8_t *in, size_t len)
{
    size_t rest = len % 16;
    if (len >= 16)
        entry(x, table, in, len - rest);
    if (rest) {
        uint8_t last[16] = {0};
        memcpy(last, in + len - rest, rest);
        entry(x, table, last, 16);
    }
}

#define INIT(s, table, h) init((openssl_init *)(s)->init, (table), (h))
#define UPDATE(s, table, x, in, len)                                                               \
    update((openssl_ghash *)(s)->update, (table), (x), (in), (len))

BENCH_LOOPS(openssl, INIT, UPDATE)

static size_t open_openssl(struct bench_subject *subjects, size_t room)
{
    unsigned eax, ebx, ecx, edx;
    const struct bench_subject found[] = {
        {.name = "openssl_avx",
         .needs = CPU_AVX | CPU_PCLMULQDQ,
         .init = (kernel_entry)gcm_init_avx,
         .update = (kernel_entry)gcm_ghash_avx},
        {.name = "openssl_clmul",
         .needs = CPU_SSSE3 | CPU_PCLMULQDQ,
         .init = (kernel_entry)gcm_init_clmul,
         .update = (kernel_entry)gcm_ghash_clmul},
    };
    if (__get_cpuid(1, &eax, &ebx, &ecx, &edx)) {
        OPENSSL_ia32cap_P[0] = edx;
        OPENSSL_ia32cap_P[1] = ecx;
    }
    if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) {
        OPENSSL_ia32cap_P[2] = ebx;
        OPENSSL_ia32cap_P[3] = ecx;
    }
    size_t count = sizeof found / sizeof found[0];
    if (count > room)
        return 0;
    for (size_t i = 0; i < count; i++) {
        subjects[i] = found[i];
        subjects[i].kind = "peer";
        subjects[i].table_bytes = 256;
        subjects[i].table_align = 16;
        openssl_fill(&subjects[i]);
    }
    return count;
}

const struct bench_peers bench_openssl = {.open = open_openssl};
