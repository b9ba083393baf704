/* The features that a kernel may use: this machine's, minus those switched off. */
#include "cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"

#define CPU_NAME_OF(NAME, name, ...) {name, CPU_##NAME},
const struct cpu_feature cpu_feature_names[] = {CPU_FEATURES(CPU_NAME_OF) {NULL, 0}};
const size_t cpu_feature_count = CPU_INDEX_END;

static uint64_t bit_named(const char *name, size_t length)
{
    for (size_t i = 0; i < cpu_feature_count; i++)
        if (strlen(cpu_feature_names[i].name) == length &&
            memcmp(cpu_feature_names[i].name, name, length) == 0)
            return cpu_feature_names[i].bit;
    return 0;
}

/* An unknown name ends the program: it might be meant to switch off a feature. */
static uint64_t features_off(void)
{
    uint64_t off = 0;
    const char *name = getenv(CPU_FEATURES_OFF);
    while (name && *name) {
        size_t length = strcspn(name, ",");
        uint64_t bit = bit_named(name, length);
        if (length && !bit) {
            fprintf(stderr, "%s names '%.*s', which is not a CPU feature known here\n",
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
    return cpu_detected() & ~features_off();
}
