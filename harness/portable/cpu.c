/* For architectures without known features. */
#include "cpu.h"

const unsigned char cpu_word_bits[] = {0};
const size_t cpu_word_count = 0;

uint64_t cpu_decode(const uint64_t *words)
{
    (void)words;
    return 0;
}

uint64_t cpu_detected(void)
{
    return 0;
}
