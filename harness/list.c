/* `features`, `decode` and `list`. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "commands.h"
#include "cpu.h"
#include "json.h"

static int write_features(uint64_t features)
{
    int first = 1;
    printf("{");
    for (size_t i = 0; i < cpu_feature_count; i++) {
        json_key(&first, cpu_feature_names[i].name);
        printf(features & cpu_feature_names[i].bit ? "true" : "false");
    }
    printf("}\n");
    return EXIT_OK;
}

int command_features(void)
{
    return write_features(cpu_features());
}

int command_decode(char *const words[])
{
    uint64_t value[CPU_WORDS_MAX];
    for (size_t i = 0; i < cpu_word_count; i++) {
        char *end;
        errno = 0;
        value[i] = strtoull(words[i], &end, 16);
        if (errno || end == words[i] || *end ||
            (cpu_word_bits[i] < 64 && value[i] >> cpu_word_bits[i])) {
            complain("decode: not a word of %d bits in hexadecimal: %s", cpu_word_bits[i],
                     words[i]);
            return EXIT_USAGE;
        }
    }
    return write_features(cpu_decode(value));
}

static void write_kernel(const struct ghashgen_kernel *k, uint64_t features)
{
    int first = 1;
    printf("{");
    json_key(&first, "name");
    json_string(k->name);
    json_key(&first, "isa");
    json_string(k->isa);
    json_key(&first, "abi");
    json_string(k->abi);
    json_key(&first, "blocks");
    printf("%u", k->blocks);
    json_key(&first, "needs");
    json_features(k->needs);
    json_key(&first, "missing");
    json_features(k->needs & ~features);
    printf("}");
}

int command_list(void)
{
    const struct ghashgen_kernel *k;
    uint64_t features = cpu_features();
    printf("[");
    for (size_t i = 0; (k = kernel_at(i)) != NULL; i++) {
        if (i)
            printf(",\n ");
        write_kernel(k, features);
    }
    printf("]\n");
    return EXIT_OK;
}
