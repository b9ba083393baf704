/* What a kernel's functions must compute, whatever its operation, from ref_ctmul64. */
#ifndef GHASHGEN_EXPECTED_H
#define GHASHGEN_EXPECTED_H

#include "kernel.h"

struct expected {
    int polyval;       /* RFC 8452 rather than SP 800-38D */
    uint64_t table[6]; /* of ref_ctmul64 */
};

void expected_init(struct expected *e, const struct ghashgen_kernel *k, const uint8_t h[16]);
void expected_mul(const struct expected *e, uint8_t x[16]);
void expected_update(const struct expected *e, uint8_t x[16], const uint8_t *in, size_t len);

#endif
