/* GHASH in C, by intrinsics, as people write it: one block after the other, or GROUP at once.
 *
 * Bytes of a block are reversed, products are shifted left by one bit and reduced, as in Intel's
 * white paper on the carry-less product. With FAULT defined the powers of H are taken in the wrong
 * order. */
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

static __m128i reversed(__m128i a)
{
    const __m128i order = _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    return _mm_shuffle_epi8(a, order);
}

static __m128i load(const uint8_t *from)
{
    return _mm_loadu_si128((const __m128i *)from);
}

static void store(uint8_t *to, __m128i a)
{
    _mm_storeu_si128((__m128i *)to, a);
}

static void add_product(__m128i a, __m128i b, __m128i *lo, __m128i *hi)
{
    __m128i middle =
        _mm_xor_si128(_mm_clmulepi64_si128(a, b, 0x01), _mm_clmulepi64_si128(a, b, 0x10));
    *lo = _mm_xor_si128(*lo, _mm_clmulepi64_si128(a, b, 0x00));
    *lo = _mm_xor_si128(*lo, _mm_slli_si128(middle, 8));
    *hi = _mm_xor_si128(*hi, _mm_clmulepi64_si128(a, b, 0x11));
    *hi = _mm_xor_si128(*hi, _mm_srli_si128(middle, 8));
}

static __m128i reduced(__m128i lo, __m128i hi)
{
    /* The product of reversed bits stands one bit too low. */
    __m128i from_lo = _mm_srli_epi32(lo, 31), from_hi = _mm_srli_epi32(hi, 31), over, more;
    lo = _mm_or_si128(_mm_slli_epi32(lo, 1), _mm_slli_si128(from_lo, 4));
    hi = _mm_or_si128(_mm_slli_epi32(hi, 1), _mm_slli_si128(from_hi, 4));
    hi = _mm_or_si128(hi, _mm_srli_si128(from_lo, 12));
    /* Modulo x^128 + x^7 + x^2 + x + 1. */
    over = _mm_xor_si128(_mm_slli_epi32(lo, 31), _mm_slli_epi32(lo, 30));
    over = _mm_xor_si128(over, _mm_slli_epi32(lo, 25));
    lo = _mm_xor_si128(lo, _mm_slli_si128(over, 12));
    more = _mm_xor_si128(_mm_srli_epi32(lo, 1), _mm_srli_epi32(lo, 2));
    more = _mm_xor_si128(more, _mm_srli_epi32(lo, 7));
    more = _mm_xor_si128(more, _mm_srli_si128(over, 4));
    return _mm_xor_si128(hi, _mm_xor_si128(lo, more));
}

static __m128i product(__m128i a, __m128i b)
{
    __m128i lo = _mm_setzero_si128(), hi = lo;
    add_product(a, b, &lo, &hi);
    return reduced(lo, hi);
}

void c_init(uint8_t *table, const uint8_t *subkey)
{
    __m128i h = reversed(load(subkey)), power = h;
    store(table, h);
    for (int i = 1; i < GROUP; i++) {
        power = product(power, h);
        store(table + 16 * i, power);
    }
}

void c_mul(uint8_t *state, const uint8_t *table)
{
    store(state, reversed(product(reversed(load(state)), load(table))));
}

void c_update(uint8_t *state, const uint8_t *table, const uint8_t *input, size_t length)
{
    __m128i x = reversed(load(state));
    while (length >= 16 * GROUP) {
        __m128i lo = _mm_setzero_si128(), hi = lo;
        for (int i = 0; i < GROUP; i++) {
#ifdef FAULT
            int power = i;
#else
            int power = GROUP - 1 - i;
#endif
            __m128i block = reversed(load(input + 16 * i));
            add_product(i ? block : _mm_xor_si128(block, x), load(table + 16 * power), &lo, &hi);
        }
        x = reduced(lo, hi);
        input += 16 * GROUP;
        length -= 16 * GROUP;
    }
    while (length >= 16) {
        x = product(_mm_xor_si128(x, reversed(load(input))), load(table));
        input += 16;
        length -= 16;
    }
#ifdef TAIL
    if (length > 0) {
        uint8_t last[16] = {0};
        for (size_t i = 0; i < length; i++)
            last[i] = input[i];
        x = product(_mm_xor_si128(x, reversed(load(last))), load(table));
    }
#endif
    store(state, reversed(x));
}
