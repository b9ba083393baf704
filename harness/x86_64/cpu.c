/* The detection of cpu_detect.h for the harness, and what the harness alone must know. */
#include "cpu.h"

#define CPU_BIT_OF(NAME, name, word, position, state) {name, CPU_##NAME, word, position, state},
#include "cpu_detect.h"

#define CPU_NAME_OF(NAME, name, word, position, state) {name, CPU_##NAME},
const struct cpu_feature cpu_feature_names[] = {CPU_FEATURES(CPU_NAME_OF)};
const size_t cpu_feature_count = CPUID_ROWS;

uint64_t cpu_decode(const struct cpu_registers *r)
{
    const uint32_t words[CPUID_WORDS] = {
        [LEAF1_ECX] = r->leaf1_ecx,
        [LEAF1_EDX] = r->leaf1_edx,
        [LEAF7_EBX] = r->leaf7_ebx,
        [LEAF7_ECX] = r->leaf7_ecx,
    };
    return decode_features(words, r->xcr0);
}

uint64_t cpu_detected(void)
{
    return detect_features();
}

int cpu_has_xinuse(void)
{
    unsigned eax, ebx, ecx, edx;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & LEAF1_ECX_OSXSAVE))
        return 0;
    return __get_cpuid_count(0xD, 1, &eax, &ebx, &ecx, &edx) && (eax >> 2 & 1);
}
