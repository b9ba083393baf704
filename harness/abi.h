/* Calls that check the calling convention. */
#ifndef GHASHGEN_ABI_H
#define GHASHGEN_ABI_H

#include <stdint.h>

#include "guard.h"
#include "kernel.h"

/* The rules that a call may violate, one bit each, and their names. Each architecture's folder defines
 * these and implements the rest of this file; "portable" has none. */
extern const char *const abi_violation_names[];
extern const size_t abi_violation_count;

/* The stack on which callees run; the architecture opens it. */
extern struct guard abi_stack_guard;

/* Whether calls can be checked on this architecture; if not, abi_call makes a plain call. */
int abi_available(void);

/* Readies the stack on which callees run; 0, or -1 with errno set. */
int abi_open(void);

/* The stack, so that a fault in it can be described. */
const struct guard *abi_stack(void);

/*
 * Calls entry(args...) by the kernel's convention and returns its violations. Unused argument
 * registers hold garbage. dirty_upper: the upper halves of the vector registers hold garbage on
 * entry (and are not checked on return).
 */
uint64_t abi_call(const struct ghashgen_kernel *k, kernel_entry entry, const uint64_t *args,
                  size_t count, int dirty_upper);

/* The return-value register after the last call. */
uint64_t abi_result(void);

/* "rbx, xmm6 changed; ..." */
void abi_describe(uint64_t violations, char *text, size_t text_size);

#endif
