/*
 * Questions to the dispatcher, which is included so that its static functions can be asked too.
 * Answers are one line each; "-" stands for NULL.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(ELSEWHERE) /* after the system's headers, which need to know where they are */
#undef __x86_64__
#elif defined(WINDOWS)
#define _WIN32 1
#endif

#include "ghashgen_dispatch.c"

static void print_name(const struct ghashgen_kernel_info *kernel)
{
    puts(kernel ? kernel->name : "-");
}

static void print_features(uint64_t features)
{
    for (size_t i = 0; i < CPUID_ROWS; i++)
        if (features & cpuid_rows[i].feature)
            printf("%s ", cpuid_rows[i].name);
    putchar('\n');
}

static int read_registers(uint32_t words[CPUID_WORDS], uint64_t *xcr0)
{
    return scanf("%" SCNx32 "%" SCNx32 "%" SCNx32 "%" SCNx32 "%" SCNx64, &words[LEAF1_ECX],
                 &words[LEAF1_EDX], &words[LEAF7_EBX], &words[LEAF7_ECX], xcr0) == 5;
}

static void print_table(void)
{
    for (const struct ghashgen_kernel_info *k = kernels; k->name; k++)
        printf("%s %s %u %zu %zu %" PRIx64 "\n", k->name, k->isa, k->blocks, k->table_bytes,
               k->table_align, k->needs);
}

/* GHASH of standard input under the best kernel: 16 bytes of H, then the data. */
static int ghash(void)
{
    static _Alignas(GHASHGEN_MAX_TABLE_ALIGN) unsigned char table[GHASHGEN_MAX_TABLE_BYTES];
    static uint8_t input[1 << 16];
    uint8_t x[16] = {0}, product[16] = {0};
    const struct ghashgen_kernel_info *kernel = ghashgen_best();
    size_t length = fread(input, 1, sizeof input, stdin);
    if (!kernel || length < 32)
        return 1;
    kernel->init(table, input);
    kernel->update(table, x, input + 16, length - 16);
    memcpy(product, input + 16, 16);
    kernel->mul(table, product);
    fwrite(x, 1, 16, stdout);
    fwrite(product, 1, 16, stdout);
    return 0;
}

int main(int count, char **arguments)
{
    const char *question = count > 1 ? arguments[1] : "";
    uint32_t words[CPUID_WORDS];
    uint64_t value;

    if (strcmp(question, "bits") == 0) {
        for (size_t i = 0; i < CPUID_ROWS; i++)
            printf("%s %" PRIx64 "\n", cpuid_rows[i].name, cpuid_rows[i].feature);
    } else if (strcmp(question, "best_for") == 0) {
        while (scanf("%" SCNx64, &value) == 1)
            print_name(ghashgen_best_for(value));
    } else if (strcmp(question, "decode") == 0) {
        while (read_registers(words, &value))
            print_features(decode_features(words, value));
    } else if (strcmp(question, "best") == 0) {
        print_name(ghashgen_best());
    } else if (strcmp(question, "thrice") == 0) {
        for (int i = 0; i < 3; i++)
            print_name(ghashgen_best());
    } else if (strcmp(question, "features") == 0) {
        print_features(ghashgen_cpu_features());
    } else if (strcmp(question, "find") == 0 && count == 3) {
        print_name(ghashgen_find(arguments[2]));
    } else if (strcmp(question, "table") == 0) {
        print_table();
    } else if (strcmp(question, "ghash") == 0) {
        return ghash();
    } else {
        return 2;
    }
    return 0;
}
