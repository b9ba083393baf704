"""POLYVAL as in RFC 8452 (section 3), and its relation to GHASH (appendix A).

A field element is 16 bytes, little-endian: bit k of the int is the coefficient of x^k. The field
polynomial is the reciprocal of GCM's P, so the two fields mirror each other.
"""

from ghashgen.algebra.field import gf128
from ghashgen.algebra.field.bitorder import (
    BLOCK_BYTES,
    block_from_element,
    element_from_block,
    require_block,
    xor_blocks,
)
from ghashgen.algebra.field.gf2 import clmul, mod
from ghashgen.algebra.field.ghash import ZERO_BLOCK

POLYVAL_P = (1 << 128) | (1 << 127) | (1 << 126) | (1 << 121) | 1
"""The field polynomial x^128 + x^127 + x^126 + x^121 + 1."""

X_TO_MINUS_128 = (1 << 127) | (1 << 124) | (1 << 121) | (1 << 114) | 1
"""x^-128 in this field: x^127 + x^124 + x^121 + x^114 + 1."""


def dot(a: bytes, b: bytes) -> bytes:
    """dot(a, b) = a·b·x^-128, on 16-byte elements.

    Raises ValueError unless a and b have 16 bytes.
    """
    return _bytes(_mul(_mul(_element(a), _element(b)), X_TO_MINUS_128))


def polyval(h: bytes, data: bytes) -> bytes:
    """POLYVAL(H, X_1, …, X_s) for the 16-byte blocks X_i of data; no blocks give 16 zero bytes.

    S_0 = 0 and S_j = dot(S_{j-1} + X_j, H).

    Raises ValueError unless h has 16 bytes and data a multiple of 16.
    """
    require_block(h)
    s = ZERO_BLOCK
    for x in _blocks(data):
        s = dot(xor_blocks(s, x), h)
    return s


def mulX_GHASH(block: bytes) -> bytes:
    """The block times x in the field and the block order of GHASH (appendix A).

    Raises ValueError unless block has 16 bytes.
    """
    return block_from_element(gf128.mul(element_from_block(block), gf128.X))


def _element(block: bytes) -> int:
    require_block(block)
    return int.from_bytes(block, "little")


def _bytes(element: int) -> bytes:
    return element.to_bytes(BLOCK_BYTES, "little")


def _mul(a: int, b: int) -> int:
    return mod(clmul(a, b), POLYVAL_P)


def _blocks(data: bytes) -> list[bytes]:
    if len(data) % BLOCK_BYTES:
        raise ValueError(f"POLYVAL takes whole blocks; {len(data)} bytes leave a partial one")
    return [data[start : start + BLOCK_BYTES] for start in range(0, len(data), BLOCK_BYTES)]
