/* OpenSSL's words of CPU capabilities, for its objects without the library. */
#include "way_openssl.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

/* Ten words since OpenSSL 3.5; objects read the first few. */
unsigned OPENSSL_ia32cap_P[10];

void openssl_capabilities(void)
{
#if defined(__x86_64__)
    unsigned eax, ebx, ecx, edx;
    if (__get_cpuid(1, &eax, &ebx, &ecx, &edx)) {
        OPENSSL_ia32cap_P[0] = edx;
        OPENSSL_ia32cap_P[1] = ecx;
    }
    if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) {
        OPENSSL_ia32cap_P[2] = ebx;
        OPENSSL_ia32cap_P[3] = ecx;
    }
#endif
}
