/* Features of the CPU that runs the harness, as bits. */
#ifndef GHASHGEN_CPU_H
#define GHASHGEN_CPU_H

#include <stddef.h>
#include <stdint.h>

#define CPU_SSE2 (UINT64_C(1) << 0)
#define CPU_SSSE3 (UINT64_C(1) << 1)
#define CPU_SSE4_1 (UINT64_C(1) << 2)
#define CPU_PCLMULQDQ (UINT64_C(1) << 3)
#define CPU_AESNI (UINT64_C(1) << 4)
#define CPU_AVX (UINT64_C(1) << 5)
#define CPU_AVX2 (UINT64_C(1) << 6)
#define CPU_BMI2 (UINT64_C(1) << 7)
#define CPU_AVX512F (UINT64_C(1) << 8)
#define CPU_AVX512BW (UINT64_C(1) << 9)
#define CPU_AVX512VL (UINT64_C(1) << 10)
#define CPU_AVX512DQ (UINT64_C(1) << 11)
#define CPU_AVX512VBMI (UINT64_C(1) << 12)
#define CPU_VPCLMULQDQ (UINT64_C(1) << 13)
#define CPU_VAES (UINT64_C(1) << 14)
#define CPU_GFNI (UINT64_C(1) << 15)

#define CPU_ASIMD (UINT64_C(1) << 32)
#define CPU_PMULL (UINT64_C(1) << 33)
#define CPU_SHA3 (UINT64_C(1) << 34)

struct cpu_feature {
    const char *name;
    uint64_t bit;
};

/* Those of the architecture that this is compiled for; it has a folder of its name. */
extern const struct cpu_feature cpu_feature_names[];
extern const size_t cpu_feature_count;

/* The five registers that decide: CPUID.1:ECX, EDX; CPUID.(7,0):EBX, ECX; XCR0 (0 without OSXSAVE). */
struct cpu_registers {
    uint32_t leaf1_ecx, leaf1_edx, leaf7_ebx, leaf7_ecx;
    uint64_t xcr0;
};

/* Pure: the features that an x86-64 machine with these registers can use; none elsewhere. */
uint64_t cpu_decode(const struct cpu_registers *r);

/* Environment variable: features that this machine is to be treated as lacking, comma-separated. */
#define CPU_FEATURES_OFF "GHASHGEN_FEATURES_OFF"

/* The features that this machine can use; the architecture says. */
uint64_t cpu_detected(void);

/*
 * The features that this machine can use, less those of CPU_FEATURES_OFF. Ends the program with EXIT_USAGE if the variable names what is no feature: ask before
 * anything is printed.
 */
uint64_t cpu_features(void);

/* x86-64 alone: whether XGETBV with ECX = 1 (XINUSE) can be executed: CPUID.(0xD,1):EAX[2]. */
int cpu_has_xinuse(void);

#endif
