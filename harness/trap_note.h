/* What an architecture says of a signal; each has it in a folder of its name. */
#ifndef GHASHGEN_TRAP_NOTE_H
#define GHASHGEN_TRAP_NOTE_H

#include <signal.h>
#include <ucontext.h>

#include "trap.h"

/* Sets the instruction and the kind of access, where they are known. */
void trap_note(struct trap *t, const siginfo_t *info, const ucontext_t *context);

#endif
