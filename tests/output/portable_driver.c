/* The portable code beside a kernel: random calls in any order on states of their own, parts, and whole
 * messages with lengths and tags that may be invalid. Both must return and write the same. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ghashgen_gcm_dispatch.h"

enum { MOST = 700, SIDES = 2 };

static struct ghashgen_gcm_key keys[SIDES];
static uint8_t text[MOST], state[SIDES][96], out[SIDES][MOST], tag[SIDES][16];
static unsigned long long seed = 1;

static unsigned below(unsigned end)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % end;
}

static int piece(int side, unsigned what, size_t len)
{
    const struct ghashgen_gcm_key *key = &keys[side];
    switch (what) {
    case 0: return ghashgen_gcm_key_start(key, state[side], text, len % 3 ? 12 : len);
    case 1: return ghashgen_gcm_key_aad(key, state[side], text, len);
    case 2: return ghashgen_gcm_key_encrypt_more(key, state[side], text, out[side], len);
    case 3: return ghashgen_gcm_key_decrypt_more(key, state[side], text, out[side], len);
    case 4: return ghashgen_gcm_key_finish(key, state[side], tag[side]);
    default: return ghashgen_gcm_key_verify(key, state[side], text, len % 18);
    }
}

static int part(int side, unsigned decrypts, size_t len)
{
    uint8_t *counter = state[side], *x = tag[side];
    memcpy(counter, text, 16);
    memset(counter + 12, 0xff, 3);
    memcpy(x, text + 16, 16);
    (decrypts ? ghashgen_gcm_key_decrypt : ghashgen_gcm_key_encrypt)(&keys[side], counter, x, text, out[side], len);
    return 0;
}

static int whole(int side, unsigned opens, size_t len, size_t iv_len, size_t tag_len)
{
    const struct ghashgen_gcm_key *key = &keys[side];
    if (opens)
        return ghashgen_gcm_key_open(key, text, iv_len, text, 7, text, len, out[side], text, tag_len);
    return ghashgen_gcm_key_seal(key, text, iv_len, text, 7, text, len, out[side], tag[side]);
}

static int differ(unsigned what)
{
    int found[SIDES];
    size_t len = below(4) ? below(70) : below(MOST), iv_len = below(3) ? 12 : below(40), tag_len = below(19);

    for (int side = 0; side < SIDES; side++)
        found[side] = what < 6 ? piece(side, what, len)
                    : what < 8 ? part(side, what - 6, len)
                               : whole(side, what - 8, len, iv_len, tag_len);
    if (what >= 6 && what < 8 && memcmp(state[0], state[1], 16) != 0)
        return 1;
    if (what >= 6)
        memset(state, 0, sizeof state);
    return found[0] != found[1] || memcmp(out[0], out[1], MOST) != 0 || memcmp(tag[0], tag[1], 16) != 0;
}

int main(void)
{
    /* Often in the right order, sometimes in any. */
    static const unsigned usual[] = {0, 1, 1, 2, 2, 2, 4, 0, 1, 3, 3, 5, 6, 7, 8, 9};

    for (int turn = 0; turn < 1500; turn++) {
        uint8_t bytes[32];
        for (size_t i = 0; i < MOST; i++)
            text[i] = (uint8_t)below(256);
        memcpy(bytes, text, sizeof bytes);
        memset(state, 0, sizeof state);
        if (!ghashgen_gcm_key_init(&keys[0], GHASHGEN_GCM_PIECES, bytes, 16) || keys[0].kernel == &ghashgen_gcm_portable[0])
            return 77;
        keys[1].kernel = &ghashgen_gcm_portable[0];
        keys[1].kernel->init(keys[1].ctx, bytes);
        for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++) {
            unsigned what = below(8) ? usual[i] : below(10);
            /* A message has one direction. */
            if (what == 2 || what == 3)
                what = 2 + (unsigned)turn % 2;
            if (differ(what)) {
                printf("call %u of turn %d differs\n", what, turn);
                return 1;
            }
        }
    }
    puts("24000 calls agree");
    return 0;
}
