/* The detection of cpu_detect.h for the harness, and what the harness alone must know. */
#include "cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"

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

static uint64_t bit_named(const char *name, size_t length)
{
    for (size_t i = 0; i < cpu_feature_count; i++)
        if (strlen(cpu_feature_names[i].name) == length &&
            memcmp(cpu_feature_names[i].name, name, length) == 0)
            return cpu_feature_names[i].bit;
    return 0;
}

/* A name that means nothing here would leave a feature on that was to be off: it ends the program. */
static uint64_t features_off(void)
{
    uint64_t off = 0;
    const char *name = getenv(CPU_FEATURES_OFF);
    while (name && *name) {
        size_t length = strcspn(name, ",");
        uint64_t bit = bit_named(name, length);
        if (length && !bit) {
            fprintf(stderr, "%s names '%.*s', which is no CPU feature known here\n",
                    CPU_FEATURES_OFF, (int)length, name);
            exit(EXIT_USAGE);
        }
        off |= bit;
        name += length + (name[length] == ',');
    }
    return off;
}

uint64_t cpu_features(void)
{
    return detect_features() & ~features_off();
}

int cpu_has_xinuse(void)
{
#if defined(__x86_64__)
    unsigned eax, ebx, ecx, edx;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & LEAF1_ECX_OSXSAVE))
        return 0;
    return __get_cpuid_count(0xD, 1, &eax, &ebx, &ecx, &edx) && (eax >> 2 & 1);
#else
    return 0;
#endif
}
