"""GHASH on blocks, as in SP 800-38D: sections 6.3 (Algorithm 1) and 6.4 (Algorithm 2).

A bit string x_0 x_1 … x_127 is a block of 16 bytes; x_0 is the most significant bit of byte 0.
Algorithm 1 uses the big-endian int of these bytes, so that the standard's ">> 1" is ">> 1" here.
"""

from functools import lru_cache

from ghashgen.algebra.field.bitorder import BLOCK_BYTES, require_block, xor_blocks

R = 0b11100001 << 120
"""The constant block R = 11100001 || 0^120 of section 6.3."""

ZERO_BLOCK = bytes(BLOCK_BYTES)


def multiply_blocks(x: bytes, y: bytes) -> bytes:
    """The product X • Y: Algorithm 1.

    Raises ValueError unless x and y have 16 bytes.
    """
    require_block(x)
    require_block(y)
    # Step 1: x_0 … x_127 is the sequence of bits in X.
    bits_of_x = f"{int.from_bytes(x, 'big'):0128b}"
    # Steps 2 and 3: Z_0 = 0^128, and Z_{i+1} for i = 0 to 127.
    Z = 0
    for x_i, V in zip(bits_of_x, _v(y, R), strict=True):
        if x_i == "1":
            Z ^= V
    # Step 4: return Z_128.
    return Z.to_bytes(BLOCK_BYTES, "big")


@lru_cache(maxsize=256)
def _v(y: bytes, r: int) -> tuple[int, ...]:
    """V_0 … V_127 of Algorithm 1, which depend on Y alone."""
    V = [int.from_bytes(y, "big")]
    for _ in range(127):
        V.append(V[-1] >> 1 ^ r if V[-1] & 1 else V[-1] >> 1)
    return tuple(V)


def pad16(data: bytes) -> bytes:
    """Data followed by the fewest zero bytes, 0 to 15, that complete its last block."""
    return data + bytes(-len(data) % BLOCK_BYTES)


def ghash(h: bytes, data: bytes) -> bytes:
    """GHASH_H(X): Algorithm 2, with hash subkey h (16 bytes) and X = data.

    The empty string, which the standard excludes, hashes to the zero block Y_0.

    Raises ValueError unless h has 16 bytes and data a multiple of 16.
    """
    require_block(h)
    if len(data) % BLOCK_BYTES:
        raise ValueError(f"GHASH takes whole blocks; {len(data)} bytes leave a partial one")
    return _absorb(h, ZERO_BLOCK, data)


def ghash_padded(h: bytes, state: bytes, data: bytes) -> bytes:
    """The state after absorbing data, zero-padded to whole blocks, into the given state.

    h and state have 16 bytes, in the byte order of the standard. Without data the state is
    unchanged. This is the contract of an emitted NAME_update.

    Raises ValueError unless h and state have 16 bytes.
    """
    require_block(h)
    require_block(state)
    return _absorb(h, state, pad16(data))


def _absorb(h: bytes, y: bytes, data: bytes) -> bytes:
    """Step 3 of Algorithm 2 from any Y: Y_i = (Y_{i-1} ⊕ X_i) • H for each block X_i of data."""
    for start in range(0, len(data), BLOCK_BYTES):
        y = multiply_blocks(xor_blocks(y, data[start : start + BLOCK_BYTES]), h)
    return y
