/* The managers of Intel's multi-buffer library, one for each instruction set. */
#ifndef GHASHGEN_BENCH_IPSECMB_MANAGERS_H
#define GHASHGEN_BENCH_IPSECMB_MANAGERS_H

#include <intel-ipsec-mb.h>

#include "../cpu.h"

#define AVX512 (CPU_AVX2 | CPU_AVX512F | CPU_AVX512BW | CPU_AVX512VL | CPU_AVX512DQ)

static const struct {
    const char *name;
    void (*open)(IMB_MGR *);
    uint64_t needs;
    uint64_t takes; /* what it also uses if the CPU has it */
} managers[] = {
    {"sse", init_mb_mgr_sse, 0, 0},
    {"avx", init_mb_mgr_avx, CPU_AVX, 0},
    {"avx2", init_mb_mgr_avx2, CPU_AVX2, 0},
    {"avx512", init_mb_mgr_avx512, AVX512, CPU_VAES | CPU_VPCLMULQDQ},
};
#define MANAGERS (sizeof managers / sizeof managers[0])

/* A manager, or NULL if this CPU cannot run it. */
static IMB_MGR *manager_open(size_t i)
{
    IMB_MGR *manager = managers[i].needs & ~cpu_features() ? NULL : alloc_mb_mgr(0);
    if (manager)
        managers[i].open(manager);
    return manager;
}

/* What the names of its subjects end in. */
static inline const char *manager_safety(const IMB_MGR *manager)
{
    return manager->features & (IMB_FEATURE_SAFE_DATA | IMB_FEATURE_SAFE_PARAM) ? "_safe" : "";
}

#endif
