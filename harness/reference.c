/* The table of portable kernels: baselines for machines without a carry-less multiply. */
#include "reference.h"

#define PORTABLE(NAME, TABLE_BYTES)                                                                \
    {                                                                                              \
        .op = "ghash", .name = #NAME, .isa = "portable", .abi = "c", .needs = 0, .blocks = 1,      \
        .table_bytes = (TABLE_BYTES), .table_align = 8,                                            \
        .functions = (const struct kernel_function[]){{"init", (kernel_entry)NAME##_init},         \
                                                      {"mul", (kernel_entry)NAME##_mul},           \
                                                      {"update", (kernel_entry)NAME##_update},     \
                                                      {NULL, NULL}}                                \
    }

const struct ghashgen_kernel reference_kernels[] = {
    PORTABLE(ref_branching, 16),
    PORTABLE(ref_bitwise, 16),
    PORTABLE(ref_4bit, 256),
    PORTABLE(ref_ctmul64, 48),
};
const size_t reference_kernel_count = sizeof reference_kernels / sizeof reference_kernels[0];
