/* Whether the processor says which state is not as after a reset. */
#ifndef GHASHGEN_XINUSE_H
#define GHASHGEN_XINUSE_H

/* Whether XGETBV with ECX = 1 (XINUSE) can be executed: CPUID.(0xD,1):EAX[2]. */
int cpu_has_xinuse(void);

#endif
