/* Violations of a calling convention in words, and the stack on which callees run. */
#include "abi.h"

#include <stdio.h>

void abi_describe(uint64_t violations, char *text, size_t text_size)
{
    size_t used = 0;
    text[0] = 0;
    for (size_t i = 0; i < abi_violation_count; i++)
        if (violations >> i & 1 && used < text_size)
            used += (size_t)snprintf(text + used, text_size - used, "%s%s", used ? ", " : "",
                                     abi_violation_names[i]);
}

struct guard abi_stack_guard = {.name = "stack"};

const struct guard *abi_stack(void)
{
    return &abi_stack_guard;
}
