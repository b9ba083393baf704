/* The detection of cpu_detect.h for the harness, and what the harness alone must know. */
#include "cpu.h"
#include "xinuse.h"

#define CPU_BIT_OF(NAME, name, word, position, state) {name, CPU_##NAME, word, position, state},
#include "cpu_detect.h"

/* CPUID.1:ECX, EDX; CPUID.(7,0):EBX, ECX; XCR0 (0 without OSXSAVE). */
const unsigned char cpu_word_bits[] = {
    [LEAF1_ECX] = 32, [LEAF1_EDX] = 32, [LEAF7_EBX] = 32, [LEAF7_ECX] = 32, [CPUID_WORDS] = 64};
const size_t cpu_word_count = sizeof cpu_word_bits;

uint64_t cpu_decode(const uint64_t *words)
{
    uint32_t cpuid[CPUID_WORDS];
    for (size_t i = 0; i < CPUID_WORDS; i++)
        cpuid[i] = (uint32_t)words[i];
    return decode_features(cpuid, words[CPUID_WORDS]);
}

uint64_t cpu_detected(void)
{
    return detect_features();
}

/* Legacy SSE code merges into upper halves that are in use (SDM vol. 1, 14.9). */
void cpu_clean_vectors(void)
{
    static int has_avx = -1;
    if (has_avx < 0)
        has_avx = (cpu_detected() & CPU_AVX) != 0;
    if (has_avx)
        __asm__ volatile("vzeroupper" ::: "memory");
}

int cpu_has_xinuse(void)
{
    unsigned eax, ebx, ecx, edx;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & LEAF1_ECX_OSXSAVE))
        return 0;
    return __get_cpuid_count(0xD, 1, &eax, &ebx, &ecx, &edx) && (eax >> 2 & 1);
}
