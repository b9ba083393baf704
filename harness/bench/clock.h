/* Core cycles on a core that may be shared and whose frequency may move. */
#ifndef GHASHGEN_BENCH_CLOCK_H
#define GHASHGEN_BENCH_CLOCK_H

/* One measurement. */
struct clock_sample {
    double cycles;    /* core cycles */
    double per_cycle; /* nops retired per cycle, the lower of before and after */
    int undisturbed;  /* neither switched away nor at a changing frequency */
};

/* Stays on one core: the given one, or the last allowed if negative. Returns it, or -1. */
int clock_pin(int core);

/* Measures the cost of an empty measurement. */
void clock_open(void);

/* Nops that this core retires per cycle when it is not shared: the best of many short probes. */
double clock_idle_rate(void);

/*
 * Runs function(argument), with a chain of dependent additions (one a cycle) and a loop of nops (as
 * clock_idle_rate on a core of one's own) on either side.
 */
struct clock_sample clock_run(void (*function)(const void *), const void *argument);

/*
 * Waits until nops retire at this rate for some 100 microseconds, for at most *seconds, and
 * subtracts the wait. A sample may fit into the pauses of a busy neighbour that slows the next one:
 * only a longer quiet stretch shows that it has gone.
 */
void clock_wait(double per_cycle, double *seconds);

/* Whether nops retire at this rate now, for some 30 microseconds. */
int clock_was_quiet(double per_cycle);

/* Wall clock, from an arbitrary start. */
double clock_seconds(void);

/* Core clock in GHz, by the chain against the wall clock. */
double clock_ghz(void);

#endif
