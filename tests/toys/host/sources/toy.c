#include <string.h>

#include "toy.h"

/* Bit by bit, as SP 800-38D says. */
void toy_hash(const uint8_t h[16], uint8_t x[16], const uint8_t *data, size_t len)
{
    for (size_t done = 0; done < len; done += 16) {
        uint8_t v[16], z[16] = {0};
        for (size_t i = 0; i < 16 && done + i < len; i++)
            x[i] ^= data[done + i];
        memcpy(v, h, 16);
        for (int i = 0; i < 128; i++) {
            uint8_t odd = v[15] & 1;
            if (x[i / 8] >> (7 - i % 8) & 1)
                for (int j = 0; j < 16; j++)
                    z[j] ^= v[j];
            for (int j = 15; j > 0; j--)
                v[j] = (uint8_t)(v[j] >> 1 | v[j - 1] << 7);
            v[0] >>= 1;
            v[0] ^= odd ? 0xe1 : 0;
        }
        memcpy(x, z, 16);
    }
}
