"""Known AES-GCM vectors for the tests that hosts get, computed from the specification.

The C of a test makes keys, IVs, AAD and texts by the formula of `pattern`; only results are listed.
"""

from dataclasses import dataclass
from functools import cache

from ghashgen.algebra.field.aes import cipher
from ghashgen.algebra.field.gcm import gcm_encrypt

KEY, IV, AAD, TEXT = range(4)
"""What a pattern is for."""

USUAL_IV = 12

_BLOCKS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96)
"""Numbers of blocks beside which lengths lie: the kernels' groups, and two of them."""

_LENGTHS = (0, *(16 * n + more for n in _BLOCKS for more in (-1, 0, 1)))
_AADS = (13, 0, 20, 16, 1, 32, 15, 129)
_IVS = (1, 8, 16, 17, 60)

MOST = max(_LENGTHS)
"""The longest text, IV or AAD in bytes."""


@dataclass(frozen=True)
class Vector:
    """The lengths of a message in bytes, and its tag."""

    iv: int
    aad: int
    text: int
    tag: bytes


@dataclass(frozen=True)
class Vectors:
    """The results under one key."""

    key_bytes: int
    sealed: bytes
    """The longest text sealed under the usual IV; what a shorter one gives is its beginning."""
    vectors: tuple[Vector, ...]


def pattern(what: int, length: int) -> bytes:
    """Return the bytes of a key, an IV, AAD or a text."""
    return bytes((i * i + 37 * i * what + (i >> 3) + 11 * what) % 256 for i in range(length))


@cache
def vectors(key_bytes: int) -> Vectors:
    """Return the vectors for a key size."""
    key = pattern(KEY, key_bytes)
    block = cache(lambda data: cipher(key, data))

    def sealed(iv: int, aad: int, text: int) -> tuple[bytes, bytes]:
        return gcm_encrypt(block, pattern(IV, iv), pattern(TEXT, text), pattern(AAD, aad))

    lengths = [(USUAL_IV, _AADS[n % len(_AADS)], text) for n, text in enumerate(_LENGTHS)]
    lengths += [(iv, _AADS[0], 33) for iv in _IVS]
    found = [Vector(*each, sealed(*each)[1]) for each in lengths]
    return Vectors(key_bytes, sealed(USUAL_IV, 0, MOST)[0], tuple(found))
