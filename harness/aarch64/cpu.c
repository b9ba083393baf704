/* The features of AArch64, as Linux reports them in HWCAP (Documentation/arch/arm64/elf_hwcaps). */
#include "cpu.h"

#include <sys/auxv.h>

#define CPU_BIT_OF(NAME, name, position) {position, CPU_##NAME},
static const struct {
    unsigned position;
    uint64_t feature;
} hwcap_rows[] = {CPU_FEATURES(CPU_BIT_OF)};

const unsigned char cpu_word_bits[] = {64};
const size_t cpu_word_count = sizeof cpu_word_bits;

uint64_t cpu_decode(const uint64_t *words)
{
    uint64_t features = 0;
    for (size_t i = 0; i < sizeof hwcap_rows / sizeof hwcap_rows[0]; i++)
        if (words[0] >> hwcap_rows[i].position & 1)
            features |= hwcap_rows[i].feature;
    return features;
}

uint64_t cpu_detected(void)
{
    const uint64_t hwcap = getauxval(AT_HWCAP);
    return cpu_decode(&hwcap);
}

void cpu_clean_vectors(void)
{
    /* Here narrow code writes whole registers. */
}
