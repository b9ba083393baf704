/* The subcommands, and their exit codes. */
#ifndef GHASHGEN_COMMANDS_H
#define GHASHGEN_COMMANDS_H

#include "kernel.h"

enum exit_code {
    EXIT_OK = 0,
    EXIT_CHECK_FAILED = 1,
    EXIT_USAGE = 2,   /* arguments or standard input are wrong */
    EXIT_MISSING = 3, /* the CPU lacks a feature that the kernel needs */
    EXIT_FAULT = 4,   /* the kernel faulted or did not return */
    EXIT_INTERNAL = 5
};

int command_features(void);
/* cpu_decode of cpu_word_count words, in hexadecimal. */
int command_decode(char *const words[]);
int command_list(void);
int command_run(const struct ghashgen_kernel *k);
int command_mul(const struct ghashgen_kernel *k);
/* As run, but each chunk is hashed from state 0 and combined with the hash before it. */
int command_segments(const struct ghashgen_kernel *k);
/* H^m for every vector; m is the first 8 bytes of x, little-endian. */
int command_power(const struct ghashgen_kernel *k);
int command_check(const struct ghashgen_kernel *k);
/* Calls any of its functions, as standard input says. */
int command_call(const struct ghashgen_kernel *k, const char *function);
/* Kernels, points and expectations as standard input says. */
int command_sampled(void);

/* One line on standard error: "ghashgen-harness: ..." */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
