/*
 * AES-CTR of Intel's multi-buffer library, one job at a time: it has no direct function. A table has
 * the manager, then the round keys.
 */
#include <stdio.h>

#include "ctr_loops.h"
#include "ipsecmb_managers.h"

#define ROUND_KEYS_BYTES (16 * 15)

struct ipsecmb_ctr {
    IMB_MGR *manager;
    uint8_t encrypt[ROUND_KEYS_BYTES] __attribute__((aligned(64)));
    uint8_t decrypt[ROUND_KEYS_BYTES] __attribute__((aligned(64)));
};

static IMB_MGR *opened[MANAGERS];

static inline void set_key(const struct bench_subject *s, void *table, const uint8_t *key)
{
    struct ipsecmb_ctr *c = table;
    IMB_MGR *manager = opened[s->place];
    c->manager = manager;
    if (s->key_bits == 128)
        IMB_AES_KEYEXP_128(manager, key, c->encrypt, c->decrypt);
    else if (s->key_bits == 192)
        IMB_AES_KEYEXP_192(manager, key, c->encrypt, c->decrypt);
    else
        IMB_AES_KEYEXP_256(manager, key, c->encrypt, c->decrypt);
}

static inline void crypt_text(const struct bench_subject *s, const void *table,
                              const uint8_t *counter, const uint8_t *in, size_t len, uint8_t *out)
{
    const struct ipsecmb_ctr *c = table;
    IMB_JOB *job = IMB_GET_NEXT_JOB(c->manager);
    job->cipher_mode = IMB_CIPHER_CNTR;
    job->cipher_direction = IMB_DIR_ENCRYPT;
    job->hash_alg = IMB_AUTH_NULL;
    job->chain_order = IMB_ORDER_CIPHER_HASH;
    job->enc_keys = c->encrypt;
    job->dec_keys = c->encrypt;
    job->key_len_in_bytes = s->key_bits / 8;
    job->iv = counter;
    job->iv_len_in_bytes = 16;
    job->src = in;
    job->dst = out;
    job->cipher_start_src_offset_in_bytes = 0;
    job->msg_len_to_cipher_in_bytes = len;
    if (!IMB_SUBMIT_JOB_NOCHECK(c->manager))
        while (IMB_FLUSH_JOB(c->manager))
            continue;
}

#define CRYPT(s, table, counter, in, len, out) crypt_text(s, table, counter, in, len, out)

BENCH_KEY_LOOPS(ipsecmb, set_key, set_key)
BENCH_CRYPT_LOOPS(ipsecmb, CRYPT)

static size_t open_ipsecmb_ctr(struct bench_subject *subjects, size_t room)
{
    static char names[3 * MANAGERS][32];
    size_t count = 0;
    for (size_t i = 0; i < MANAGERS; i++) {
        if (!(opened[i] = manager_open(i)))
            continue;
        for (unsigned bits = 128; bits <= 256 && count < room; bits += 64) {
            struct bench_subject *s = &subjects[count];
            char *name = names[count++];
            snprintf(name, sizeof names[0], "ipsecmb_ctr_%s_%u", managers[i].name, bits);
            *s = (struct bench_subject){
                .name = name,
                .kind = "peer",
                .needs = managers[i].needs | (managers[i].takes & cpu_features() & CPU_VAES) | CPU_AESNI,
                .table_bytes = sizeof(struct ipsecmb_ctr),
                .table_align = 64,
                .key_bits = bits,
                .place = i,
            };
            ipsecmb_fill_key(s);
            ipsecmb_fill_crypt(s);
        }
    }
    return count;
}

const struct bench_peers bench_ipsecmb_ctr = {.open = open_ipsecmb_ctr};
