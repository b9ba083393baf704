/*
 * Questions to the dispatcher of AES-GCM, which is included so that its static functions can be asked
 * too. "-" stands for NULL. With PLANT=host:features in hexadecimal in the environment, the CPU is taken
 * to be of that kind and to have these features.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(ELSEWHERE) /* after the system's headers, which need to know where they are */
#undef __x86_64__
#endif

#include "ghashgen_gcm_dispatch.c"

#define USES (GHASHGEN_GCM_BURSTS + 1)
#define ROOM 8192

static const char *name_of(const struct ghashgen_gcm_kernel *kernel)
{
    return kernel ? kernel->name : "-";
}

static void print_bytes(const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        printf("%02x", bytes[i]);
    putchar(' ');
}

/* For each line of host and features: the kernel of every size of key and use. */
static int found(void)
{
    unsigned host;
    uint64_t features;
    while (scanf("%x %" SCNx64, &host, &features) == 2) {
        for (unsigned bits = 128; bits <= 256; bits += 64)
            for (int use = 0; use < USES; use++) {
                const struct choice *c =
                    find_choice(bits, (enum ghashgen_gcm_use)use, host, features);
                printf("%s ", name_of(c ? c->kernel : NULL));
            }
        putchar('\n');
    }
    return 0;
}

/* Standard input: key, IV of 12 bytes, 20 bytes of AAD, text. Of every length of the text to `most`: the
 * sealed text and its tag; and what opening does with it, in place, and with a tag that is wrong. */
static int messages(enum ghashgen_gcm_use use, size_t key_bytes, size_t most)
{
    static uint8_t given[32 + 32 + ROOM], out[ROOM], back[ROOM], zero[ROOM];
    struct ghashgen_gcm_key key, copy;
    const uint8_t *iv = given + key_bytes, *aad = iv + 12, *text = aad + 20;
    uint8_t tag[16];
    size_t count = fread(given, 1, sizeof given, stdin);
    if (most > ROOM || count < key_bytes + 32 + most)
        return 3;
    if (!ghashgen_gcm_key_init(&key, use, given, key_bytes))
        return 4;
    copy = key;
    ghashgen_gcm_key_wipe(&key);
    for (size_t i = 0; i < sizeof key; i++)
        if (((unsigned char *)&key)[i])
            return 5;
    for (size_t len = 0; len <= most; len++) {
        int status = ghashgen_gcm_key_seal(&copy, iv, 12, aad, 20, text, len, out, tag);
        if (status)
            return 10 + status;
        print_bytes(out, len);
        print_bytes(tag, 16);
        memcpy(back, out, len);
        if (ghashgen_gcm_key_open(&copy, iv, 12, aad, 20, back, len, back, tag, 16) ||
            memcmp(back, text, len))
            return 6;
        tag[len % 16] ^= 1;
        if (ghashgen_gcm_key_open(&copy, iv, 12, aad, 20, out, len, back, tag, 16) != 1 ||
            memcmp(back, zero, len))
            return 7;
        putchar('\n');
    }
    return 0;
}

/* Standard input: key, counter block, state, text: the text encrypted in one part, counter and state
 * behind it; the same decrypted in place. */
static int parts(size_t key_bytes, size_t len)
{
    static uint8_t given[64 + ROOM], out[ROOM];
    struct ghashgen_gcm_key key;
    uint8_t counter[16], x[16], again[16], y[16];
    const uint8_t *text = given + key_bytes + 32;
    if (len > ROOM || fread(given, 1, sizeof given, stdin) < key_bytes + 32 + len)
        return 3;
    if (!ghashgen_gcm_key_init(&key, GHASHGEN_GCM_PARTS, given, key_bytes))
        return 4;
    memcpy(counter, given + key_bytes, 16);
    memcpy(x, given + key_bytes + 16, 16);
    memcpy(again, counter, 16);
    memcpy(y, x, 16);
    ghashgen_gcm_key_encrypt(&key, counter, x, text, out, len);
    print_bytes(out, len);
    print_bytes(counter, 16);
    print_bytes(x, 16);
    ghashgen_gcm_key_decrypt(&key, again, y, out, out, len);
    if (memcmp(out, text, len) || memcmp(again, counter, 16) || memcmp(x, y, 16))
        return 6;
    return 0;
}

/* Standard input: key, IV of 12 bytes, 20 bytes of AAD, text: it is sealed in pieces of so many bytes, and
 * opened in place in the same pieces, with its tag and with one that is wrong. */
static int pieces(size_t key_bytes, size_t len, size_t piece)
{
    static uint8_t given[64 + ROOM], out[ROOM], back[ROOM];
    struct ghashgen_gcm_key key;
    uint8_t state[96], tag[16];
    const uint8_t *iv = given + key_bytes, *aad = iv + 12, *text = aad + 20;
    if (len > ROOM || !piece || fread(given, 1, sizeof given, stdin) < key_bytes + 32 + len)
        return 3;
    if (!ghashgen_gcm_key_init(&key, GHASHGEN_GCM_PIECES, given, key_bytes))
        return 4;
    for (int turn = 0; turn < 3; turn++) { /* sealed, opened, opened by a tag that is wrong */
        int wrong = ghashgen_gcm_key_start(&key, state, iv, 12);
        for (size_t at = 0, n; at < 20; at += n) {
            n = 20 - at < piece ? 20 - at : piece;
            wrong |= ghashgen_gcm_key_aad(&key, state, aad + at, n);
        }
        if (turn)
            memcpy(back, out, len);
        for (size_t at = 0, n; at < len; at += n) {
            n = len - at < piece ? len - at : piece;
            wrong |= turn ? ghashgen_gcm_key_decrypt_more(&key, state, back + at, back + at, n)
                          : ghashgen_gcm_key_encrypt_more(&key, state, text + at, out + at, n);
        }
        if (turn == 0)
            wrong |= ghashgen_gcm_key_finish(&key, state, tag);
        if (wrong || (turn && memcmp(back, text, len)))
            return 5;
        tag[15] ^= turn == 2;
        if (turn && ghashgen_gcm_key_verify(&key, state, tag, 16) != turn - 1)
            return 6;
    }
    tag[15] ^= 1;
    print_bytes(out, len);
    print_bytes(tag, 16);
    return 0;
}

int main(int count, char **arguments)
{
    const char *question = count > 1 ? arguments[1] : "", *plant = getenv("PLANT");
    unsigned number = count > 2 ? (unsigned)strtoul(arguments[2], NULL, 10) : 0;
    size_t key_bytes = count > 3 ? (size_t)strtoull(arguments[3], NULL, 10) : 0;
    size_t len = count > 4 ? (size_t)strtoull(arguments[4], NULL, 10) : 0;
    enum ghashgen_gcm_use use = (enum ghashgen_gcm_use)number;

    if (plant) {
        unsigned host;
        uint64_t value;
        if (sscanf(plant, "%x:%" SCNx64, &host, &value) != 2)
            return 3;
        cpu_word = KNOWN | host << FEATURE_BITS | (uint32_t)value;
    }
    if (strcmp(question, "bits") == 0) {
        for (size_t i = 0; i < CPUID_ROWS; i++)
            printf("%s %" PRIx64 "\n", cpuid_rows[i].name, (uint64_t)cpuid_rows[i].feature);
        return 0;
    }
    if (strcmp(question, "features") == 0) {
        for (size_t i = 0; i < CPUID_ROWS; i++)
            if (ghashgen_gcm_cpu_features() & cpuid_rows[i].feature)
                printf("%s ", cpuid_rows[i].name);
        return 0;
    }
    if (strcmp(question, "found") == 0)
        return found();
    if (strcmp(question, "best") == 0) {
        printf("%s\n", name_of(ghashgen_gcm_best(use, key_bytes)));
        return 0;
    }
    if (strcmp(question, "messages") == 0)
        return messages(use, key_bytes, len);
    if (strcmp(question, "parts") == 0)
        return parts(key_bytes, len);
    if (strcmp(question, "pieces") == 0)
        return pieces(key_bytes, len, number);
    if (strcmp(question, "absent") == 0) { /* what seal and open say where the kernel has none */
        struct ghashgen_gcm_key key;
        uint8_t bytes[32] = {0};
        if (!ghashgen_gcm_key_init(&key, use, bytes, key_bytes))
            return 4;
        printf("%d %d\n",
               ghashgen_gcm_key_seal(&key, bytes, 12, bytes, 0, bytes, 0, bytes, bytes),
               ghashgen_gcm_key_open(&key, bytes, 12, bytes, 0, bytes, 0, bytes, bytes, 16));
        return 0;
    }
    return 2;
}
