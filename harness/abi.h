/* Calls that check the calling convention. */
#ifndef GHASHGEN_ABI_H
#define GHASHGEN_ABI_H

#include <stdint.h>

#include "guard.h"
#include "kernel.h"

/* Violations, as bits; bits 0-7 and 8-17 are registers in the order of abi_violation_names. */
#define ABI_GENERAL(i) (UINT64_C(1) << (i))
#define ABI_XMM(i) (UINT64_C(1) << (8 + (i) - 6))
#define ABI_RSP (UINT64_C(1) << 18)
#define ABI_CALLER_STACK (UINT64_C(1) << 19)
#define ABI_DIRECTION (UINT64_C(1) << 20)
#define ABI_MXCSR (UINT64_C(1) << 21)
#define ABI_X87 (UINT64_C(1) << 22)
#define ABI_UPPER (UINT64_C(1) << 23)

/* Whether calls can be checked on this architecture; without it abi_call calls plainly. */
int abi_available(void);

/* Readies the stack on which callees run; 0, or -1 with errno set. */
int abi_open(void);

/* The stack, so that a fault in it can be described. */
const struct guard *abi_stack(void);

/*
 * Calls entry(args...) by the kernel's convention and returns what it violated; where registers for
 * arguments are left over they hold garbage. dirty_upper: the upper halves of the vector registers
 * hold garbage on entry (and are not checked on return).
 */
uint64_t abi_call(const struct ghashgen_kernel *k, kernel_entry entry, const uint64_t *args,
                  size_t count, int dirty_upper);

/* "rbx, xmm6 changed; ..." */
void abi_describe(uint64_t violations, char *text, size_t text_size);

#endif
