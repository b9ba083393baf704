/*
 * Questions to the dispatcher, which is included so that its static functions can be asked too.
 * Answers are one line each; "-" stands for NULL. With PLANT=host:features in hexadecimal in the
 * environment, the CPU is taken to be of that kind and to have these features.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(ELSEWHERE) /* after the system's headers, which need to know where they are */
#undef __x86_64__
#endif

#include "ghashgen_dispatch.c"

#define DATA_BYTES ((size_t)1 << 17)

static void print_name(const struct ghashgen_kernel *kernel)
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

static void print_state(const uint8_t x[16])
{
    for (int i = 0; i < 16; i++)
        printf("%02x", x[i]);
    putchar('\n');
}

static int read_registers(uint32_t words[CPUID_WORDS], uint64_t *xcr0)
{
    return scanf("%" SCNx32 "%" SCNx32 "%" SCNx32 "%" SCNx32 "%" SCNx64, &words[LEAF1_ECX],
                 &words[LEAF1_EDX], &words[LEAF7_EBX], &words[LEAF7_ECX], xcr0) == 5;
}

static void print_choices(void)
{
    for (size_t i = 0; i < CHOICES; i++) {
        printf("%d %d %" PRIx32 " %" PRIx64, (int)choices[i].op, (int)choices[i].use,
               choices[i].hosts, choices[i].needs);
        for (const struct length_class *c = choices[i].classes;; c++) {
            if (!c->kernel)
                break;
            printf(" %s", c->kernel->name);
            if (c->up_to == SIZE_MAX)
                break;
        }
        putchar('\n');
    }
}

/* For each line of host and features: the place of the choice for every operation and use. */
static void print_found(void)
{
    unsigned host;
    uint64_t features;
    while (scanf("%x %" SCNx64, &host, &features) == 2) {
        for (int op = 0; op < OPS; op++)
            for (int use = 0; use < USES; use++) {
                const struct ghashgen_choice *choice =
                    find_choice((enum ghashgen_op)op, (enum use)use, host, features);
                printf("%td ", choice == &nothing ? -1 : choice - choices);
            }
        putchar('\n');
    }
}

static size_t read_data(uint8_t data[DATA_BYTES])
{
    return fread(data, 1, DATA_BYTES, stdin);
}

/*
 * Standard input: h, then data. For every length up to that of the data: the hash by a key that
 * has seen the lengths before, by a key with every table, by a copy of it that is only read, in two
 * parts, and by once; they must agree. One line a length.
 */
static int lengths(enum ghashgen_op op)
{
    static uint8_t in[DATA_BYTES];
    static struct ghashgen_key lazy, full, copy;
    size_t size = read_data(in);
    if (size < 16 || !ghashgen_key_init(&lazy, op, in) || !ghashgen_key_init(&full, op, in))
        return 4;
    for (size_t len = 1; len <= SIZE_MAX / 2; len *= 2)
        ghashgen_key_prepare(&full, len);
    memcpy(&copy, &full, sizeof copy);
    for (size_t len = 0; len <= size - 16; len++) {
        uint8_t x[5][16] = {{0}};
        const uint8_t *message = in + 16;
        size_t part = len / 3 / 16 * 16;
        ghashgen_key_update(&lazy, x[0], message, len);
        ghashgen_key_update(&full, x[1], message, len);
        ghashgen_key_update_shared(&copy, x[2], message, len);
        ghashgen_key_update(&full, x[3], message, part);
        ghashgen_key_update(&full, x[3], message + part, len - part);
        if (!ghashgen_once(op, x[4], in, message, len))
            return 5;
        for (int i = 1; i < 5; i++)
            if (memcmp(x[0], x[i], 16) != 0)
                return 10 + i;
        print_state(x[0]);
    }
    ghashgen_key_wipe(&full);
    for (size_t i = 0; i < sizeof full; i++)
        if (((const uint8_t *)&full)[i])
            return 6;
    return 0;
}

/* Standard input: h, x, then data of whole segments of 100 blocks. Prints x·H, then the hash of the
 * data from x: the segments hashed apart and put together. */
static int segments(enum ghashgen_op op)
{
    enum { SEGMENT = 1600 };
    static uint8_t in[DATA_BYTES];
    static struct ghashgen_key key;
    size_t size = read_data(in);
    uint8_t x[16], p[16], product[16];
    if (size < 32 || !ghashgen_key_init(&key, op, in) || !ghashgen_power(op, p, in, SEGMENT / 16))
        return 4;
    memcpy(x, in + 16, 16);
    memcpy(product, x, 16);
    ghashgen_key_mul(&key, product);
    print_state(product);
    for (size_t at = 32; at < size; at += SEGMENT) {
        uint8_t y[16] = {0};
        ghashgen_key_update(&key, y, in + at, SEGMENT);
        if (!ghashgen_combine(op, x, y, p))
            return 5;
    }
    print_state(x);
    return 0;
}

/* Messages of these lengths under one key: the kernel of each, as update left the tables. */
static int fills(enum ghashgen_op op)
{
    static uint8_t in[DATA_BYTES];
    static struct ghashgen_key key;
    uint8_t x[16] = {0};
    size_t len;
    if (!ghashgen_key_init(&key, op, in))
        return 4;
    while (scanf("%zu", &len) == 1 && len <= sizeof in) {
        ghashgen_key_update(&key, x, in, len);
        print_name(ghashgen_key_kernel(&key, len));
    }
    return 0;
}

int main(int count, char **arguments)
{
    const char *question = count > 1 ? arguments[1] : "", *plant = getenv("PLANT");
    enum ghashgen_op op = count > 2 && arguments[2][0] == 'p' ? GHASHGEN_POLYVAL : GHASHGEN_GHASH;
    size_t len = count > 3 ? (size_t)strtoull(arguments[3], NULL, 10) : 0;
    uint32_t words[CPUID_WORDS], signature;
    uint64_t value;
    char vendor[13];

    if (plant) {
        unsigned host;
        if (sscanf(plant, "%x:%" SCNx64, &host, &value) != 2)
            return 3;
        cpu_word = KNOWN | host << FEATURE_BITS | (uint32_t)value;
    }
    if (strcmp(question, "bits") == 0) {
        for (size_t i = 0; i < CPUID_ROWS; i++)
            printf("%s %" PRIx64 "\n", cpuid_rows[i].name, cpuid_rows[i].feature);
    } else if (strcmp(question, "decode") == 0) {
        while (read_registers(words, &value))
            print_features(decode_features(words, value));
    } else if (strcmp(question, "host") == 0) {
        while (scanf(" %12[^\n] %" SCNx32, vendor, &signature) == 2)
            printf("%u\n", decode_host(vendor, signature));
    } else if (strcmp(question, "here") == 0) {
        printf("%u\n", detect_host());
    } else if (strcmp(question, "features") == 0) {
        print_features(ghashgen_cpu_features());
    } else if (strcmp(question, "choices") == 0) {
        print_choices();
    } else if (strcmp(question, "found") == 0) {
        print_found();
    } else if (strcmp(question, "best") == 0) {
        print_name(ghashgen_best(op, len));
        print_name(ghashgen_best_once(op, len));
        print_name(ghashgen_best_segments(op));
    } else if (strcmp(question, "lengths") == 0) {
        return lengths(op);
    } else if (strcmp(question, "segments") == 0) {
        return segments(op);
    } else if (strcmp(question, "fills") == 0) {
        return fills(op);
    } else {
        return 2;
    }
    return 0;
}
