#include <stddef.h>
#include <stdint.h>

/* Continues the GHASH x under the subkey h over len bytes, padded with zeros. */
void toy_hash(const uint8_t h[16], uint8_t x[16], const uint8_t *data, size_t len);
