"""What a round and a key expansion of AES do besides the S-box (FIPS 197, 5.1 and 5.2).

A state is the 16 bytes of a block in order: byte r + 4·c is s[r, c] of section 3.4, in row r and
column c. A word is 4 bytes. `ghashgen.algebra.field.aes` has the whole cipher.
"""

from functools import cache

from ghashgen.algebra.field.gf2 import clmul, mod

M = 0x11B
"""m(x) = x^8 + x^4 + x^3 + x + 1 of section 4.2."""

ROUNDS = {16: 10, 24: 12, 32: 14}
"""Key length in bytes -> Nr, the number of rounds (section 5, figure 4)."""

WORD_BYTES = 4

ROWS = COLUMNS = 4
"""Rows and columns of a state."""


@cache
def multiply(a: int, b: int) -> int:
    """The product a • b in GF(2^8), section 4.2."""
    return mod(clmul(a, b), M)


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
