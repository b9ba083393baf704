/* Fills the instruction caches with other code. */
#ifndef GHASHGEN_BENCH_COLD_H
#define GHASHGEN_BENCH_COLD_H

/* Runs 256 KiB of code: more than the first caches of instructions hold, less than the second. */
void cold_code(void);

#endif
