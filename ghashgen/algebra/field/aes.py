"""AES as in FIPS 197: the S-box (5.1.1), the round (5.1) and the key expansion (5.2).

A state is the 16 bytes of a block in order: byte r + 4·c is s[r, c] of section 3.4, in row r and
column c. A word is 4 bytes. Only the forward cipher is here, because GCM uses no other.
"""

from functools import cache

from ghashgen.algebra.field.bitorder import require_block, xor_blocks
from ghashgen.algebra.field.gf2 import clmul, mod

M = 0x11B
"""m(x) = x^8 + x^4 + x^3 + x + 1 of section 4.2."""

ROUNDS = {16: 10, 24: 12, 32: 14}
"""Key length in bytes -> Nr, the number of rounds (section 5, figure 4)."""

WORD_BYTES = 4

ROWS = COLUMNS = 4
"""Rows and columns of a state."""


def multiply(a: int, b: int) -> int:
    """The product a • b in GF(2^8), section 4.2."""
    return mod(clmul(a, b), M)


def inverse(a: int) -> int:
    """The multiplicative inverse of a in GF(2^8), with 0 mapped to itself: a^254."""
    # 254 = 2 + 4 + … + 128.
    product, power = 1, a
    for _ in range(7):
        power = multiply(power, power)
        product = multiply(product, power)
    return product


def affine(b: int) -> int:
    """The transformation (5.1): b'_i = b_i + b_(i+4) + b_(i+5) + b_(i+6) + b_(i+7) + c_i."""
    c = 0b01100011
    out = 0
    for i in range(8):
        bit = c >> i & 1
        for k in (0, 4, 5, 6, 7):
            bit ^= b >> (i + k) % 8 & 1
        out |= bit << i
    return out


@cache
def s_box() -> bytes:
    """The S-box of section 5.1.1 by its definition: the inverse, then the affine transformation."""
    return bytes(affine(inverse(a)) for a in range(256))


def sub_bytes(state: bytes) -> bytes:
    """SubBytes, section 5.1.1; on a word, SubWord of section 5.2."""
    return bytes(s_box()[byte] for byte in state)


def shift_rows(state: bytes) -> bytes:
    """ShiftRows, section 5.1.2: s'[r, c] = s[r, (c + r) mod 4]."""
    return bytes(state[r + ROWS * ((c + r) % COLUMNS)] for c in range(COLUMNS) for r in range(ROWS))


def mix_columns(state: bytes) -> bytes:
    """MixColumns, section 5.1.3: a column times {03}x^3 + {01}x^2 + {01}x + {02}, mod x^4 + 1."""
    matrix = ((2, 3, 1, 1), (1, 2, 3, 1), (1, 1, 2, 3), (3, 1, 1, 2))
    out = []
    for c in range(COLUMNS):
        column = state[ROWS * c : ROWS * (c + 1)]
        for line in matrix:
            total = 0
            for factor, byte in zip(line, column, strict=True):
                total ^= multiply(factor, byte)
            out.append(total)
    return bytes(out)


def rot_word(word: bytes) -> bytes:
    """RotWord, section 5.2: [a0, a1, a2, a3] becomes [a1, a2, a3, a0]."""
    return word[1:] + word[:1]


def rcon(i: int) -> bytes:
    """The word Rcon[i] = [x^(i-1), {00}, {00}, {00}] of section 5.2, i from 1."""
    power = 1
    for _ in range(i - 1):
        power = multiply(power, 0x02)
    return bytes((power, 0, 0, 0))


def key_expansion(key: bytes) -> tuple[bytes, ...]:
    """KEYEXPANSION, section 5.2: the round keys 0 to Nr, each the 16 bytes w[4i] … w[4i+3].

    Raises ValueError unless key has 16, 24 or 32 bytes.
    """
    rounds = _rounds_of(key)
    Nk = len(key) // WORD_BYTES
    w = [key[WORD_BYTES * i : WORD_BYTES * (i + 1)] for i in range(Nk)]
    for i in range(Nk, 4 * (rounds + 1)):
        temp = w[i - 1]
        if i % Nk == 0:
            temp = xor_blocks(sub_bytes(rot_word(temp)), rcon(i // Nk))
        elif Nk > 6 and i % Nk == 4:
            temp = sub_bytes(temp)
        w.append(xor_blocks(w[i - Nk], temp))
    return tuple(b"".join(w[4 * i : 4 * (i + 1)]) for i in range(rounds + 1))


def cipher(key: bytes, block: bytes) -> bytes:
    """CIPHER, section 5.1: a block of 16 bytes, encrypted under a key of 16, 24 or 32.

    Raises ValueError if block or key has another length.
    """
    require_block(block)
    w = key_expansion(key)
    state = xor_blocks(block, w[0])
    for round_key in w[1:-1]:
        state = xor_blocks(mix_columns(shift_rows(sub_bytes(state))), round_key)
    return xor_blocks(shift_rows(sub_bytes(state)), w[-1])


def _rounds_of(key: bytes) -> int:
    if len(key) not in ROUNDS:
        raise ValueError(f"an AES key has 16, 24 or 32 bytes, not {len(key)}")
    return ROUNDS[len(key)]
