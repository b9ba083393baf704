/* Without a trampoline for the convention, calls are plain and unchecked. */
#include "abi.h"

#include <string.h>

const char *const abi_violation_names[] = {""};
const size_t abi_violation_count = 0;

int abi_available(void)
{
    return 0;
}

int abi_open(void)
{
    return 0;
}

static uint64_t last_result;

uint64_t abi_result(void)
{
    return last_result;
}

uint64_t abi_call(const struct ghashgen_kernel *k, kernel_entry entry, const uint64_t *args,
                  size_t count, int dirty_upper)
{
    uint64_t all[KERNEL_ARGUMENTS] = {0};
    (void)dirty_upper;
    memcpy(all, args, count * sizeof *args);
    last_result = kernel_call(k, entry, all);
    return 0;
}
