/* Signals on x86-64. */
#define _GNU_SOURCE
#include "trap_note.h"

#include <stdint.h>

void trap_note(struct trap *t, const siginfo_t *info, const ucontext_t *context)
{
    /* Page fault error code: bit 1 a write, bit 4 an instruction fetch. */
    uint64_t error = (uint64_t)context->uc_mcontext.gregs[REG_ERR];
    t->instruction = (const void *)(uintptr_t)context->uc_mcontext.gregs[REG_RIP];
    if (info->si_signo != SIGSEGV && info->si_signo != SIGBUS)
        t->access = ACCESS_UNKNOWN;
    else if (error & 16 || t->instruction == t->address)
        t->access = ACCESS_FETCH;
    else
        t->access = error & 2 ? ACCESS_WRITE : ACCESS_READ;
}

/* A return with a damaged stack faults on the ret itself when the address is not canonical. */
int trap_at_return(const struct trap *t)
{
    const uint8_t *code = t->instruction;
    return code && t->access != ACCESS_FETCH && (*code == 0xC3 || *code == 0xC2);
}
