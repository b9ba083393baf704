/* The features of AArch64, as Linux tells them in HWCAP (Documentation/arch/arm64/elf_hwcaps). */
#include "cpu.h"

#include <sys/auxv.h>

static const struct {
    unsigned long bit;
    uint64_t feature;
} hwcap_rows[] = {{1ul << 1, CPU_ASIMD}, {1ul << 4, CPU_PMULL}, {1ul << 17, CPU_SHA3}};

const struct cpu_feature cpu_feature_names[] = {
    {"asimd", CPU_ASIMD},
    {"pmull", CPU_PMULL},
    {"sha3", CPU_SHA3},
};
const size_t cpu_feature_count = sizeof cpu_feature_names / sizeof cpu_feature_names[0];

uint64_t cpu_detected(void)
{
    unsigned long hwcap = getauxval(AT_HWCAP);
    uint64_t features = 0;
    for (size_t i = 0; i < sizeof hwcap_rows / sizeof hwcap_rows[0]; i++)
        if (hwcap & hwcap_rows[i].bit)
            features |= hwcap_rows[i].feature;
    return features;
}

uint64_t cpu_decode(const struct cpu_registers *r)
{
    (void)r;
    return 0;
}
