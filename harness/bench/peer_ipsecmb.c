/*
 * Intel's multi-buffer library, by the function pointers of its managers: one for each instruction
 * set that it knows. Whether it wipes and checks its arguments is a choice of its build (SAFE_DATA,
 * SAFE_PARAM), which the names show.
 */
#include <intel-ipsec-mb.h>

#include "../cpu.h"
#include "loops.h"

#define INIT(s, table, h) ((aes_gcm_pre_t)(s)->init)((h), (table))
#define UPDATE(s, table, x, in, len) ((ghash_t)(s)->update)((table), (in), (len), (x), 16)

BENCH_LOOPS(ipsecmb, INIT, UPDATE)

#define AVX512 (CPU_AVX2 | CPU_AVX512F | CPU_AVX512BW | CPU_AVX512VL | CPU_AVX512DQ)

static const struct {
    const char *name, *safe_name;
    void (*open)(IMB_MGR *);
    uint64_t needs;
} managers[] = {
    {"ipsecmb_sse", "ipsecmb_sse_safe", init_mb_mgr_sse, 0},
    {"ipsecmb_avx", "ipsecmb_avx_safe", init_mb_mgr_avx, CPU_AVX},
    {"ipsecmb_avx2", "ipsecmb_avx2_safe", init_mb_mgr_avx2, CPU_AVX2},
    {"ipsecmb_avx512", "ipsecmb_avx512_safe", init_mb_mgr_avx512, AVX512},
};

static size_t open_ipsecmb(struct bench_subject *subjects, size_t room)
{
    size_t count = 0;
    uint64_t features = cpu_features();
    for (size_t i = 0; i < sizeof managers / sizeof managers[0] && count < room; i++) {
        if (managers[i].needs & ~features)
            continue;
        IMB_MGR *manager = alloc_mb_mgr(0);
        if (!manager)
            continue;
        managers[i].open(manager);
        if (!manager->ghash || !manager->ghash_pre) {
            free_mb_mgr(manager);
            continue;
        }
        int safe = (manager->features & (IMB_FEATURE_SAFE_DATA | IMB_FEATURE_SAFE_PARAM)) != 0;
        struct bench_subject *s = &subjects[count++];
        *s = (struct bench_subject){
            .name = safe ? managers[i].safe_name : managers[i].name,
            .kind = "peer",
            .needs = managers[i].needs | CPU_PCLMULQDQ | CPU_AESNI,
            .table_bytes = sizeof(struct gcm_key_data),
            .table_align = 64,
            .init = (kernel_entry)manager->ghash_pre,
            .update = (kernel_entry)manager->ghash,
        };
        ipsecmb_fill(s);
        free_mb_mgr(manager);
    }
    return count;
}

const struct bench_peers bench_ipsecmb = {.open = open_ipsecmb};
