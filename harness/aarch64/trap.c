/* Signals on AArch64. */
#define _GNU_SOURCE
#include "trap_note.h"

#include <stdint.h>

/* Loads and stores have bit 27 set and bit 25 clear, and of those that kernels have a load has bit
 * 22 (Arm ARM, DDI 0487, C4.1). The syndrome register is not in every signal frame. */
static int is_load(uint32_t instruction)
{
    return (instruction >> 22 & 1) != 0;
}

void trap_note(struct trap *t, const siginfo_t *info, const ucontext_t *context)
{
    t->instruction = (const void *)(uintptr_t)context->uc_mcontext.pc;
    if (info->si_signo != SIGSEGV && info->si_signo != SIGBUS)
        t->access = ACCESS_UNKNOWN;
    else if (t->instruction == t->address)
        t->access = ACCESS_FETCH;
    else
        t->access = is_load(*(const uint32_t *)t->instruction) ? ACCESS_READ : ACCESS_WRITE;
}

/* A return to a wrong address faults there. */
int trap_at_return(const struct trap *t)
{
    (void)t;
    return 0;
}
