/* Whether the processor reports which state is in use. */
#ifndef GHASHGEN_XINUSE_H
#define GHASHGEN_XINUSE_H

/* Whether XGETBV with ECX = 1 (XINUSE) can be executed: CPUID.(0xD,1):EAX[2]. */
int cpu_has_xinuse(void);

#endif
