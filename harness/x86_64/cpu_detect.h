/*
 * Features by CPUID and XGETBV alone, never by vendor or model: a hypervisor may hide any one of
 * them (PCLMULQDQ and VPCLMULQDQ, AES-NI and VAES are separate bits).
 * Source of the bit positions: Intel SDM volume 2A, CPUID; volume 1, 13.3 and 14.3 for XCR0.
 *
 * The test harness and the emitted dispatcher share this text. The file around it defines
 * CPU_BIT_OF(NAME, name, word, position, state) as {name, its own bit for NAME, ...} and a comma.
 */

enum cpuid_word { LEAF1_ECX, LEAF1_EDX, LEAF7_EBX, LEAF7_ECX, CPUID_WORDS };

/* State that the operating system must save before an instruction may be used. */
#define XCR0_YMM UINT64_C(0x06) /* SSE, AVX */
#define XCR0_ZMM UINT64_C(0xE6) /* and opmask, ZMM_Hi256, Hi16_ZMM */

/*
 * BMI2 is VEX-encoded on general registers and works without YMM state; GFNI has a legacy encoding.
 * VAES and VPCLMULQDQ name the 256-bit forms, hence YMM state: VEX.128 VPCLMULQDQ needs PCLMULQDQ
 * and AVX instead.
 */
#include "cpu_features.h"

static const struct {
    const char *name;
    uint64_t feature;
    enum cpuid_word word;
    unsigned position;
    uint64_t state;
} cpuid_rows[] = {CPU_FEATURES(CPU_BIT_OF)};

#define CPUID_ROWS (sizeof cpuid_rows / sizeof cpuid_rows[0])
#define LEAF1_ECX_AVX (UINT32_C(1) << 28)
#define LEAF7_EBX_AVX512F (UINT32_C(1) << 16)

/* Pure: the features that a machine with these registers can use; xcr0 is 0 without OSXSAVE. */
static uint64_t decode_features(const uint32_t words[CPUID_WORDS], uint64_t xcr0)
{
    uint64_t state = 0;
    if (words[LEAF1_ECX] & LEAF1_ECX_AVX)
        state |= XCR0_YMM;
    if ((words[LEAF1_ECX] & LEAF1_ECX_AVX) && (words[LEAF7_EBX] & LEAF7_EBX_AVX512F))
        state |= XCR0_ZMM;
    state &= xcr0;

    uint64_t features = 0;
    for (size_t i = 0; i < CPUID_ROWS; i++)
        if (((words[cpuid_rows[i].word] >> cpuid_rows[i].position) & 1) &&
            (state & cpuid_rows[i].state) == cpuid_rows[i].state)
            features |= cpuid_rows[i].feature;
    return features;
}

#if defined(__x86_64__)
#include <cpuid.h>

#define LEAF1_ECX_OSXSAVE (UINT32_C(1) << 27)

/* The features that this machine can use. */
static uint64_t detect_features(void)
{
    uint32_t words[CPUID_WORDS] = {0};
    uint64_t xcr0 = 0;
    unsigned eax, ebx, ecx, edx;
    if (__get_cpuid(1, &eax, &ebx, &ecx, &edx)) {
        words[LEAF1_ECX] = ecx;
        words[LEAF1_EDX] = edx;
    }
    if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) {
        words[LEAF7_EBX] = ebx;
        words[LEAF7_ECX] = ecx;
    }
    if (words[LEAF1_ECX] & LEAF1_ECX_OSXSAVE) { /* else XGETBV is an illegal instruction */
        uint32_t low, high;
        __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
        xcr0 = (uint64_t)high << 32 | low;
    }
    return decode_features(words, xcr0);
}

#else /* elsewhere none of them is known */

static uint64_t detect_features(void)
{
    const uint32_t words[CPUID_WORDS] = {0};
    return decode_features(words, 0);
}

#endif
