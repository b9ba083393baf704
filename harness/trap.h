/* Calls that may fault or never return. */
#ifndef GHASHGEN_TRAP_H
#define GHASHGEN_TRAP_H

#include <stddef.h>

enum trap_access { ACCESS_UNKNOWN, ACCESS_READ, ACCESS_WRITE, ACCESS_FETCH };

struct trap {
    int signal;              /* 0: the call returned */
    int has_address;         /* 0 for a general protection fault, which names none */
    const void *address;     /* the accessed address */
    const void *instruction; /* the instruction, NULL if unknown */
    enum trap_access access;
};

/* Installs the signal handlers on a stack of their own; 0, or -1 with errno set. */
int trap_open(void);

/*
 * Calls function(argument), for at most cpu_seconds of this process's own time (so that a busy
 * machine has no effect). Returns 1 if it returned, 0 with *t filled if it was stopped.
 */
int trap_call(void (*function)(void *), void *argument, unsigned cpu_seconds, struct trap *t);

/* Whether a return itself faulted, because its address cannot be code. */
int trap_at_return(const struct trap *t);

/* Whether the call was stopped because its time was up. */
int trap_is_timeout(const struct trap *t);

/* "SIGSEGV", ...; for SIGVTALRM its meaning here. */
const char *trap_signal_name(int signal);

#endif
