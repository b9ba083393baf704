/*
 * OpenSSL's GHASH, by its internal entry points (crypto/modes/asm/ghash-x86_64.pl): the object is
 * taken out of the static library, because they are not exported.
 */
#include "../cpu.h"
#include "loops.h"
#include "way_openssl.h"

openssl_init gcm_init_avx, gcm_init_clmul;
openssl_ghash gcm_ghash_avx, gcm_ghash_clmul;

BENCH_LOOPS(openssl, OPENSSL_INIT, OPENSSL_UPDATE)

static size_t open_openssl(struct bench_subject *subjects, size_t room)
{
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
    openssl_capabilities();
    size_t count = sizeof found / sizeof found[0];
    if (count > room)
        return 0;
    for (size_t i = 0; i < count; i++) {
        subjects[i] = found[i];
        subjects[i].kind = "peer";
        subjects[i].table_bytes = OPENSSL_TABLE_BYTES;
        subjects[i].table_align = 16;
        openssl_fill(&subjects[i]);
    }
    return count;
}

const struct bench_peers bench_openssl = {.open = open_openssl};
