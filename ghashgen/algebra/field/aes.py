"""AES as in FIPS 197: the S-box (5.1.1), the cipher (5.1) and the key expansion (5.2).

Only the forward cipher is here, because GCM uses no other. No proof rests on this file: a proof is
for every S-box.
"""

from functools import cache, lru_cache

from ghashgen.algebra.field.aes_round import (
    ROUNDS,
    WORD_BYTES,
    mix_columns,
    multiply,
    rcon,
    rot_word,
    shift_rows,
)
from ghashgen.algebra.field.bitorder import require_block, xor_blocks

__all__ = (
    "ROUNDS", "cipher", "key_expansion", "mix_columns", "multiply", "rcon", "s_box", "shift_rows",
)  # fmt: skip


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


@lru_cache(maxsize=64)
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
