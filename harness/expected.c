/*
 * POLYVAL by GHASH, RFC 8452 appendix A: POLYVAL(H, X_1, ...) is
 * ByteReverse(GHASH(mulX_GHASH(ByteReverse(H)), ByteReverse(X_1), ...)).
 */
#include "expected.h"
#include "reference.h"

static void byte_reverse(uint8_t out[16], const uint8_t in[16])
{
    for (int i = 0; i < 16; i++)
        out[i] = in[15 - i];
}

/* Times x: one place to the right in SP 800-38D's order; x^128 comes back as 1 + x + x^2 + x^7. */
static void mul_x(uint8_t b[16])
{
    unsigned carry = b[15] & 1;
    for (int i = 15; i > 0; i--)
        b[i] = (uint8_t)(b[i] >> 1 | b[i - 1] << 7);
    b[0] = (uint8_t)(b[0] >> 1 ^ (carry ? 0xE1 : 0));
}

void expected_init(struct expected *e, const struct ghashgen_kernel *k, const uint8_t h[16])
{
    uint8_t key[16];
    e->polyval = strcmp(k->op, "polyval") == 0;
    if (!e->polyval) {
        ref_ctmul64_init(e->table, h);
        return;
    }
    byte_reverse(key, h);
    mul_x(key);
    ref_ctmul64_init(e->table, key);
}

void expected_mul(const struct expected *e, uint8_t x[16])
{
    uint8_t state[16];
    if (!e->polyval) {
        ref_ctmul64_mul(e->table, x);
        return;
    }
    byte_reverse(state, x);
    ref_ctmul64_mul(e->table, state);
    byte_reverse(x, state);
}

static void mul_from_table(const void *e, uint8_t *x)
{
    expected_mul(e, x);
}

void expected_update(const struct expected *e, uint8_t x[16], const uint8_t *in, size_t len)
{
    if (!e->polyval)
        ref_ctmul64_update(e->table, x, in, len);
    else
        reference_update(mul_from_table, e, x, in, len);
}
