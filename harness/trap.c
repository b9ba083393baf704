/* Faults and endless loops end in trap_call, by siglongjmp from the handler. */
#define _GNU_SOURCE
#include "trap.h"
#include "trap_note.h"

#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>

static sigjmp_buf escape;
static volatile sig_atomic_t armed;
static struct trap caught;

static void note_context(const siginfo_t *info, const ucontext_t *context)
{
    caught.address = info->si_addr;
    caught.has_address = info->si_code != SI_KERNEL;
    trap_note(&caught, info, context);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    if (!armed) {
        if (number == SIGVTALRM)
            return; /* the call had just returned */
        signal(number, SIG_DFL);
        raise(number);
        return;
    }
    armed = 0;
    memset(&caught, 0, sizeof caught);
    caught.signal = number;
    note_context(info, context);
    siglongjmp(escape, 1);
}

int trap_open(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGVTALRM};
    /* 64 KiB: the frame of a handler holds the whole AVX-512 (and AMX) state. */
    stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
    if (!stack.ss_sp || sigaltstack(&stack, NULL) != 0)
        return -1;
    /* SA_NODEFER: the handler is left by a jump, with no signal mask to restore. */
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    action.sa_sigaction = on_signal;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        if (sigaction(signals[i], &action, NULL) != 0)
            return -1;
    return 0;
}

static void set_timer(unsigned cpu_seconds)
{
    struct itimerval timer = {.it_value = {.tv_sec = cpu_seconds}};
    setitimer(ITIMER_VIRTUAL, &timer, NULL);
}

int trap_call(void (*function)(void *), void *argument, unsigned cpu_seconds, struct trap *t)
{
    set_timer(cpu_seconds);
    if (sigsetjmp(escape, 0) == 0) {
        armed = 1;
        function(argument);
        armed = 0;
        set_timer(0);
        memset(t, 0, sizeof *t);
        return 1;
    }
    set_timer(0);
    *t = caught;
    return 0;
}

int trap_is_timeout(const struct trap *t)
{
    return t->signal == SIGVTALRM;
}

const char *trap_signal_name(int number)
{
    static const struct {
        int number;
        const char *name;
    } names[] = {
        {SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"},   {SIGILL, "SIGILL (illegal instruction)"},
        {SIGFPE, "SIGFPE"},   {SIGTRAP, "SIGTRAP"}, {SIGVTALRM, "no return within its time"},
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].number == number)
            return names[i].name;
    return "an unknown signal";
}
