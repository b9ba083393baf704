/*
 * Bursts of AES-GCM by the job and burst interfaces of Intel's multi-buffer library. A table is the
 * key's data. Its user compares the tags.
 */
#include <stdio.h>

#include "gcm_loops.h"
#include "ipsecmb_managers.h"

static IMB_MGR *opened[MANAGERS];

static void set_key(const struct bench_subject *s, void *table, const uint8_t *key)
{
    if (s->key_bits == 128)
        IMB_AES128_GCM_PRE(opened[s->place], key, table);
    else if (s->key_bits == 192)
        IMB_AES192_GCM_PRE(opened[s->place], key, table);
    else
        IMB_AES256_GCM_PRE(opened[s->place], key, table);
}

static inline void fill(IMB_JOB *job, const struct bench_subject *s, void *table,
                        const struct ghashgen_message *m, uint8_t *found)
{
    job->cipher_mode = IMB_CIPHER_GCM;
    job->hash_alg = IMB_AUTH_AES_GMAC;
    job->cipher_direction = found ? IMB_DIR_DECRYPT : IMB_DIR_ENCRYPT;
    job->chain_order = found ? IMB_ORDER_HASH_CIPHER : IMB_ORDER_CIPHER_HASH;
    job->enc_keys = job->dec_keys = table;
    job->key_len_in_bytes = s->key_bits / 8;
    job->iv = m->iv;
    job->iv_len_in_bytes = m->iv_len;
    job->u.GCM.aad = m->aad;
    job->u.GCM.aad_len_in_bytes = m->aad_len;
    job->src = m->in;
    job->dst = m->out;
    job->cipher_start_src_offset_in_bytes = job->hash_start_src_offset_in_bytes = 0;
    job->msg_len_to_cipher_in_bytes = job->msg_len_to_hash_in_bytes = m->len;
    job->auth_tag_output = found ? found : m->tag;
    job->auth_tag_output_len_in_bytes = 16;
}

typedef uint8_t tags[BENCH_BURST][16];

static inline void jobs(const struct bench_subject *s, const struct bench_work *w, tags *found)
{
    IMB_MGR *manager = opened[s->place];
    for (size_t i = 0; i < BENCH_BURST; i++) {
        IMB_JOB *job = IMB_GET_NEXT_JOB(manager);
        fill(job, s, w->table, &w->burst[i], found ? (*found)[i] : NULL);
        IMB_SUBMIT_JOB_NOCHECK(manager);
    }
    while (IMB_FLUSH_JOB(manager))
        continue;
}

static inline void burst(const struct bench_subject *s, const struct bench_work *w, tags *found)
{
    IMB_MGR *manager = opened[s->place];
    IMB_JOB *given[BENCH_BURST];
    for (uint32_t done = 0; done < BENCH_BURST;) {
        const uint32_t count = IMB_GET_NEXT_BURST(manager, BENCH_BURST - done, given);
        for (uint32_t i = 0; i < count; i++)
            fill(given[i], s, w->table, &w->burst[done + i], found ? (*found)[done + i] : NULL);
        IMB_SUBMIT_BURST_NOCHECK(manager, count, given);
        done += count;
    }
}

#define LOOPS(WAY)                                                                                 \
    static void WAY##_loop_seal(const struct bench_subject *s, const struct bench_work *w)         \
    {                                                                                              \
        for (size_t i = 0; i < w->reps; i++)                                                       \
            WAY(s, w, NULL);                                                                       \
    }                                                                                              \
    static void WAY##_loop_open(const struct bench_subject *s, const struct bench_work *w)         \
    {                                                                                              \
        tags found;                                                                                \
        for (size_t i = 0; i < w->reps; i++) {                                                     \
            WAY(s, w, &found);                                                                     \
            for (size_t j = 0; j < BENCH_BURST; j++)                                               \
                w->burst[j].status = !bench_same_tag(found[j], w->burst[j].tag);                   \
        }                                                                                          \
    }

LOOPS(jobs)
LOOPS(burst)

static const struct {
    const char *name;
    bench_loop *seal, *open;
} ways[] = {{"jobs", jobs_loop_seal, jobs_loop_open}, {"burst", burst_loop_seal, burst_loop_open}};
#define WAYS (sizeof ways / sizeof ways[0])

static size_t open_ipsecmb_burst(struct bench_subject *subjects, size_t room)
{
    static char names[3 * MANAGERS * WAYS][40];
    size_t count = 0;
    for (size_t i = 0; i < MANAGERS; i++) {
        if (!(opened[i] = manager_open(i)))
            continue;
        for (unsigned bits = 128; bits <= 256; bits += 64)
            for (size_t j = 0; j < WAYS && count < room; j++) {
                struct bench_subject *s = &subjects[count];
                char *name = names[count++];
                snprintf(name, sizeof names[0], "ipsecmb_%s_%s%s_%u", ways[j].name,
                         managers[i].name, manager_safety(opened[i]), bits);
                *s = (struct bench_subject){
                    .name = name,
                    .kind = "peer",
                    .needs = managers[i].needs | (managers[i].takes & cpu_features()) |
                             CPU_PCLMULQDQ | CPU_AESNI,
                    .table_bytes = sizeof(struct gcm_key_data),
                    .table_align = 64,
                    .key_bits = bits,
                    .place = i,
                    .call_init = set_key,
                    .loops[BENCH_SEAL_BURST] = ways[j].seal,
                    .loops[BENCH_OPEN_BURST] = ways[j].open,
                };
            }
    }
    return count;
}

const struct bench_peers bench_ipsecmb_burst = {.open = open_ipsecmb_burst};
