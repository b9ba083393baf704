/* Where no feature is known. */
#include "cpu.h"

const struct cpu_feature cpu_feature_names[] = {{"", 0}};
const size_t cpu_feature_count = 0;

uint64_t cpu_detected(void)
{
    return 0;
}

uint64_t cpu_decode(const struct cpu_registers *r)
{
    (void)r;
    return 0;
}
