/*
 * Intel's multi-buffer library, by the function pointers of its managers, one for each instruction
 * set. Its build decides whether it wipes and checks arguments (SAFE_DATA, SAFE_PARAM); the names
 * show this.
 */
#include <stdio.h>

#include "gcm_loops.h"
#include "ipsecmb_managers.h"
#include "way_ipsecmb.h"

BENCH_LOOPS(ipsecmb, IPSECMB_INIT, IPSECMB_UPDATE)
BENCH_KEY_LOOPS(ipsecmb, IPSECMB_GCM_INIT, IPSECMB_GCM_INIT)
BENCH_MESSAGE_LOOPS(ipsecmb, IPSECMB_SEAL, IPSECMB_OPEN)
BENCH_PIECES_LOOPS(ipsecmb, ipsecmb_seal_pieces, ipsecmb_open_pieces)

_Static_assert(sizeof(struct gcm_context_data) <= IPSECMB_KEY_AT, "there is room for a message");

#define NAME 32
static char names[MANAGERS * 4][NAME];

#define KEY_OF(bits)                                                                               \
    {                                                                                              \
        bits,                                                                                      \
        manager->gcm##bits##_pre,                                                                  \
        manager->gcm##bits##_enc,                                                                  \
        manager->gcm##bits##_dec,                                                                  \
        manager->gcm##bits##_init,                                                                 \
        manager->gcm##bits##_enc_update,                                                           \
        manager->gcm##bits##_dec_update,                                                           \
        manager->gcm##bits##_enc_finalize,                                                         \
        manager->gcm##bits##_dec_finalize,                                                         \
    }

/* A manager's AES-GCM, one subject for each size of key. */
static size_t add_gcm(const IMB_MGR *manager, const struct bench_subject *hash,
                      struct bench_subject *subjects, size_t room, size_t *named)
{
    const struct {
        unsigned key_bits;
        aes_gcm_pre_t pre;
        aes_gcm_enc_dec_t enc, dec;
        aes_gcm_init_t start;
        aes_gcm_enc_dec_update_t seal_more, open_more;
        aes_gcm_enc_dec_finalize_t seal_end, open_end;
    } keys[] = {KEY_OF(128), KEY_OF(192), KEY_OF(256)};
    size_t count = 0;
    for (size_t i = 0; i < 3 && count < room; i++) {
        struct bench_subject *s = &subjects[count++];
        char *name = names[(*named)++];
        snprintf(name, NAME, "%s_%u", hash->name, keys[i].key_bits);
        *s = (struct bench_subject){
            .name = name,
            .kind = "peer",
            .needs = hash->needs,
            .table_bytes = IPSECMB_KEY_AT + sizeof(struct gcm_key_data),
            .table_align = 64,
            .key_bits = keys[i].key_bits,
            .init = (kernel_entry)keys[i].pre,
            .seal = (kernel_entry)keys[i].enc,
            .open = (kernel_entry)keys[i].dec,
            .start = (kernel_entry)keys[i].start,
            .seal_more = (kernel_entry)keys[i].seal_more,
            .seal_end = (kernel_entry)keys[i].seal_end,
            .open_more = (kernel_entry)keys[i].open_more,
            .open_end = (kernel_entry)keys[i].open_end,
        };
        ipsecmb_fill_key(s);
        ipsecmb_fill_messages(s);
        ipsecmb_fill_pieces(s);
    }
    return count;
}

static size_t open_ipsecmb(struct bench_subject *subjects, size_t room)
{
    size_t count = 0, named = 0;
    for (size_t i = 0; i < MANAGERS && count < room; i++) {
        IMB_MGR *manager = manager_open(i);
        if (!manager)
            continue;
        if (!manager->ghash || !manager->ghash_pre) {
            free_mb_mgr(manager);
            continue;
        }
        struct bench_subject *s = &subjects[count++];
        char *name = names[named++];
        snprintf(name, NAME, "ipsecmb_%s%s", managers[i].name, manager_safety(manager));
        *s = (struct bench_subject){
            .name = name,
            .kind = "peer",
            .needs = managers[i].needs | (managers[i].takes & cpu_features()) | CPU_PCLMULQDQ | CPU_AESNI,
            .table_bytes = sizeof(struct gcm_key_data),
            .table_align = 64,
            .init = (kernel_entry)manager->ghash_pre,
            .update = (kernel_entry)manager->ghash,
        };
        ipsecmb_fill(s);
        count += add_gcm(manager, s, subjects + count, room - count, &named);
        free_mb_mgr(manager);
    }
    return count;
}

const struct bench_peers bench_ipsecmb = {.open = open_ipsecmb};
