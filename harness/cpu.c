/*
 * Features by CPUID and XGETBV alone, never by vendor or model: a hypervisor may hide any one of
 * them (PCLMULQDQ and VPCLMULQDQ, AES-NI and VAES are separate bits).
 * Source of the bit positions: Intel SDM volume 2A, CPUID; volume 1, 13.3 and 14.3 for XCR0.
 */
#include "cpu.h"

const struct cpu_feature cpu_feature_names[] = {
    {"sse2", CPU_SSE2},
    {"ssse3", CPU_SSSE3},
    {"sse4_1", CPU_SSE4_1},
    {"pclmulqdq", CPU_PCLMULQDQ},
    {"aesni", CPU_AESNI},
    {"avx", CPU_AVX},
    {"avx2", CPU_AVX2},
    {"bmi2", CPU_BMI2},
    {"avx512f", CPU_AVX512F},
    {"avx512bw", CPU_AVX512BW},
    {"avx512vl", CPU_AVX512VL},
    {"avx512dq", CPU_AVX512DQ},
    {"avx512vbmi", CPU_AVX512VBMI},
    {"vpclmulqdq", CPU_VPCLMULQDQ},
    {"vaes", CPU_VAES},
    {"gfni", CPU_GFNI},
};
const size_t cpu_feature_count = sizeof cpu_feature_names / sizeof cpu_feature_names[0];

/* State that the operating system must save before an instruction may be used. */
#define XCR0_YMM UINT64_C(0x06) /* SSE, AVX */
#define XCR0_ZMM UINT64_C(0xE6) /* and opmask, ZMM_Hi256, Hi16_ZMM */

#define LEAF1_ECX_AVX (UINT32_C(1) << 28)
#define LEAF7_EBX_AVX512F (UINT32_C(1) << 16)

enum cpuid_word { LEAF1_ECX, LEAF1_EDX, LEAF7_EBX, LEAF7_ECX };

/*
 * BMI2 is VEX-encoded on general registers and works without YMM state; GFNI has a legacy encoding.
 * VAES and VPCLMULQDQ name the 256-bit forms, hence YMM state.
 */
static const struct {
    uint64_t feature;
    enum cpuid_word word;
    unsigned bit;
    uint64_t state;
} rows[] = {
    {CPU_SSE2, LEAF1_EDX, 26, 0},
    {CPU_SSSE3, LEAF1_ECX, 9, 0},
    {CPU_SSE4_1, LEAF1_ECX, 19, 0},
    {CPU_PCLMULQDQ, LEAF1_ECX, 1, 0},
    {CPU_AESNI, LEAF1_ECX, 25, 0},
    {CPU_AVX, LEAF1_ECX, 28, XCR0_YMM},
    {CPU_AVX2, LEAF7_EBX, 5, XCR0_YMM},
    {CPU_BMI2, LEAF7_EBX, 8, 0},
    {CPU_AVX512F, LEAF7_EBX, 16, XCR0_ZMM},
    {CPU_AVX512BW, LEAF7_EBX, 30, XCR0_ZMM},
    {CPU_AVX512VL, LEAF7_EBX, 31, XCR0_ZMM},
    {CPU_AVX512DQ, LEAF7_EBX, 17, XCR0_ZMM},
    {CPU_AVX512VBMI, LEAF7_ECX, 1, XCR0_ZMM},
    {CPU_VPCLMULQDQ, LEAF7_ECX, 10, XCR0_YMM},
    {CPU_VAES, LEAF7_ECX, 9, XCR0_YMM},
    {CPU_GFNI, LEAF7_ECX, 8, 0},
};

uint64_t cpu_decode(const struct cpu_registers *r)
{
    const uint32_t words[] = {
        [LEAF1_ECX] = r->leaf1_ecx,
        [LEAF1_EDX] = r->leaf1_edx,
        [LEAF7_EBX] = r->leaf7_ebx,
        [LEAF7_ECX] = r->leaf7_ecx,
    };
    uint64_t state = 0;
    if (r->leaf1_ecx & LEAF1_ECX_AVX)
        state |= XCR0_YMM;
    if ((r->leaf1_ecx & LEAF1_ECX_AVX) && (r->leaf7_ebx & LEAF7_EBX_AVX512F))
        state |= XCR0_ZMM;
    state &= r->xcr0;

    uint64_t features = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (((words[rows[i].word] >> rows[i].bit) & 1) && (state & rows[i].state) == rows[i].state)
            features |= rows[i].feature;
    return features;
}

#if defined(__x86_64__)
#include <cpuid.h>

#define LEAF1_ECX_OSXSAVE (UINT32_C(1) << 27)

static uint64_t xgetbv0(void)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

uint64_t cpu_features(void)
{
    struct cpu_registers r = {0};
    unsigned eax, ebx, ecx, edx;
    if (__get_cpuid(1, &eax, &ebx, &ecx, &edx)) {
        r.leaf1_ecx = ecx;
        r.leaf1_edx = edx;
    }
    if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) {
        r.leaf7_ebx = ebx;
        r.leaf7_ecx = ecx;
    }
    if (r.leaf1_ecx & LEAF1_ECX_OSXSAVE)
        r.xcr0 = xgetbv0();
    return cpu_decode(&r);
}

int cpu_has_xinuse(void)
{
    unsigned eax, ebx, ecx, edx;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & LEAF1_ECX_OSXSAVE))
        return 0;
    return __get_cpuid_count(0xD, 1, &eax, &ebx, &ecx, &edx) && (eax >> 2 & 1);
}

#else /* no features are known here: only the portable kernels run */

uint64_t cpu_features(void)
{
    return 0;
}

int cpu_has_xinuse(void)
{
    return 0;
}

#endif
