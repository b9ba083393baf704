/*
 * The time stamp counter ticks at a constant rate, and the core does not, so both are counted beside
 * each sample. A dependent addition takes one cycle (every x86-64 core since 2006), and a core
 * retires nops at a fixed rate (4 per cycle on Skylake, about 6 on Zen 5, 12 on
 * Zen 4) unless another thread takes its slots.
 */
#define _GNU_SOURCE
#include "clock.h"

#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#define ADDS 4096
#define NOPS 8192

/* The maximum difference between a sample's two calibrations at a steady frequency. */
#define STEADY 0.02

/* Loops of nops in one probe of the core, and probes (of some 7 microseconds) before and after. */
#define PROBES 8
#define STRETCH 12
#define AFTER 4

/* Rounds of probes for the rate of a core of one's own, some 2 microseconds a probe. */
#define IDLE_ROUNDS 400
#define IDLE_PROBES 25

static uint64_t empty_ticks;

static inline uint64_t ticks(void)
{
    uint32_t low, high;
    __asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high)::"memory");
    return (uint64_t)high << 32 | low;
}

static inline uint64_t since(uint64_t start)
{
    uint64_t passed = ticks() - start;
    return passed > empty_ticks ? passed - empty_ticks : 1;
}

static uint64_t add_ticks(void)
{
    uint64_t sum = 0, left = ADDS / 64;
    uint64_t start = ticks();
    __asm__ volatile(".p2align 5\n"
                     "1:\n\t"
                     ".rept 64\n\t"
                     "add %1, %0\n\t"
                     ".endr\n\t"
                     "dec %1\n\t"
                     "jnz 1b"
                     : "+r"(sum), "+r"(left)
                     :
                     : "cc");
    return since(start);
}

/* Four-byte nops: the decoders, not the slots, would limit shorter ones. */
static uint64_t nop_ticks(void)
{
    uint64_t left = NOPS / 64;
    uint64_t start = ticks();
    __asm__ volatile(".p2align 6\n"
                     "1:\n\t"
                     ".rept 63\n\t"
                     ".byte 0x0f, 0x1f, 0x40, 0x00\n\t"
                     ".endr\n\t"
                     "dec %0\n\t"
                     "jnz 1b"
                     : "+r"(left)
                     :
                     : "cc");
    return since(start);
}

int clock_pin(int core)
{
    cpu_set_t set;
    if (core < 0) {
        if (sched_getaffinity(0, sizeof set, &set) != 0)
            return -1;
        for (int i = 0; i < CPU_SETSIZE; i++)
            if (CPU_ISSET(i, &set))
                core = i;
    }
    CPU_ZERO(&set);
    if (core < 0 || core >= CPU_SETSIZE)
        return -1;
    CPU_SET(core, &set);
    return sched_setaffinity(0, sizeof set, &set) == 0 ? core : -1;
}

void clock_open(void)
{
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 1000; i++) {
        uint64_t start = ticks();
        uint64_t passed = ticks() - start;
        if (passed < least)
            least = passed;
    }
    empty_ticks = least;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double clock_idle_rate(void)
{
    double best = 0, rates[IDLE_PROBES];
    for (int round = 0; round < IDLE_ROUNDS; round++) {
        for (int i = 0; i < IDLE_PROBES; i++) {
            double cycle = (double)add_ticks() / ADDS;
            rates[i] = NOPS * cycle / (double)nop_ticks();
        }
        /* A clock change between the two loops makes single probes too high. */
        qsort(rates, IDLE_PROBES, sizeof rates[0], ascending);
        if (rates[IDLE_PROBES / 2] > best)
            best = rates[IDLE_PROBES / 2];
    }
    return best;
}

static long switches(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw + usage.ru_nvcsw : 0;
}

struct clock_sample clock_run(void (*function)(const void *), const void *argument)
{
    long switched = switches();
    uint64_t nops = nop_ticks(), adds = add_ticks();
    uint64_t start = ticks();
    function(argument);
    uint64_t taken = since(start);
    uint64_t adds_after = add_ticks(), nops_after = nop_ticks();
    switched = switches() - switched;

    double ticks_per_cycle = (double)(adds + adds_after) / (2 * ADDS);
    double change = (double)adds / (double)adds_after;
    uint64_t slowest = nops > nops_after ? nops : nops_after;
    return (struct clock_sample){
        .cycles = (double)taken / ticks_per_cycle,
        .per_cycle = NOPS * ticks_per_cycle / (double)slowest,
        .undisturbed = !switched && change > 1 - STEADY && change < 1 + STEADY,
    };
}

static uint64_t nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/* Whether nops keep this rate throughout a few microseconds. */
static int quiet(double per_cycle)
{
    double most = (double)NOPS / ADDS * (double)add_ticks() / per_cycle;
    for (int i = 0; i < PROBES; i++)
        if ((double)nop_ticks() > most)
            return 0;
    return 1;
}

void clock_wait(double per_cycle, double *seconds)
{
    uint64_t start = nanoseconds(), passed = 0;
    for (int good = 0; good < STRETCH && (double)passed < *seconds * 1e9;) {
        good = quiet(per_cycle) ? good + 1 : 0;
        passed = nanoseconds() - start;
    }
    *seconds -= (double)passed / 1e9;
}

int clock_was_quiet(double per_cycle)
{
    for (int i = 0; i < AFTER; i++)
        if (!quiet(per_cycle))
            return 0;
    return 1;
}

double clock_seconds(void)
{
    return (double)nanoseconds() / 1e9;
}

double clock_ghz(void)
{
    double best = 0;
    for (int i = 0; i < 20; i++) {
        uint64_t start = nanoseconds();
        for (int j = 0; j < 100; j++)
            add_ticks();
        double ghz = 100.0 * ADDS / (double)(nanoseconds() - start);
        if (ghz > best)
            best = ghz;
    }
    return best;
}
