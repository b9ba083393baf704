/* Signals without a known context. */
#define _GNU_SOURCE
#include "trap_note.h"

void trap_note(struct trap *t, const siginfo_t *info, const ucontext_t *context)
{
    (void)t;
    (void)info;
    (void)context;
}

int trap_at_return(const struct trap *t)
{
    (void)t;
    return 0;
}
