/* What an architecture knows of a signal; defined in its folder. */
#ifndef GHASHGEN_TRAP_NOTE_H
#define GHASHGEN_TRAP_NOTE_H

#include <signal.h>
#include <ucontext.h>

#include "trap.h"

/* Sets the instruction and the kind of access, if known. */
void trap_note(struct trap *t, const siginfo_t *info, const ucontext_t *context);

#endif
