"""Vectors for POLYVAL, from pyca's AES-GCM-SIV (RFC 8452, section 4).

With the message-authentication key h and the message-encryption key e derived from (K, nonce),

    tag = AES_e((POLYVAL_h(padded A ‖ padded P ‖ lengths) + nonce) with its top bit cleared)

So decrypting pyca's tag gives 127 of the 128 bits that a kernel must reach.
"""

import random
from collections.abc import Iterator

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.check.validation import pyca
from ghashgen.check.validation.cases import SEED, ZERO, Case, Product, edge_blocks, split, xor
from ghashgen.run.harness import Vector

KNOWN = b"\xff" * 15 + b"\x7f"
"""All bits but the most significant one of the last byte, which AES-GCM-SIV clears."""

RFC_8452_EXAMPLE = Case(
    Vector(
        bytes.fromhex("25629347589242761d31f826ba4b757b"),
        ZERO,
        (bytes.fromhex("4f4f95668c83dfb6401762bb2d01a262d1a24ddd2721d006bbe45f20d3c9f362"),),
    ),
    "RFC 8452, appendix A",
    expected=bytes.fromhex("f7a3b47b846119fae5b7866cf5e5b77e"),
)


def _keys(key: bytes, nonce: bytes) -> tuple[bytes, bytes]:
    """Return (authentication key, encryption key), RFC 8452 section 4."""
    parts = [
        pyca.encrypt_block(key, counter.to_bytes(4, "little") + nonce)[:8]
        for counter in range(2 + len(key) // 8)
    ]
    return b"".join(parts[:2]), b"".join(parts[2:])


def _lengths(aad: bytes, text: bytes) -> bytes:
    return (8 * len(aad)).to_bytes(8, "little") + (8 * len(text)).to_bytes(8, "little")


def _polyval(key: bytes, nonce: bytes, plaintext: bytes, aad: bytes) -> tuple[bytes, bytes]:
    """Return (h, POLYVAL with the top bit unknown)."""
    tag = pyca.gcm_siv(key, nonce, plaintext, aad)[-BLOCK_BYTES:]
    h, e = _keys(key, nonce)
    return h, xor(pyca.decrypt_block(e, tag), nonce + bytes(4))


def cases(bound: int, blocks: int) -> Iterator[Case]:
    """Yield the RFC's example, every length 0..bound as AAD, and long split messages."""
    yield RFC_8452_EXAMPLE
    rng = random.Random(SEED + 2)
    key, nonce = b"", b""
    for length in range(bound + 1):
        # The nonce enters the keys: both change every 16 lengths.
        if length % BLOCK_BYTES == 0:
            key, nonce = rng.randbytes(16), rng.randbytes(12)
        aad = rng.randbytes(length)
        h, expected = _polyval(key, nonce, b"", aad)
        vector = Vector(h, ZERO, (aad, _lengths(aad, b"")))
        yield Case(vector, f"AAD of {length} bytes", expected=expected, mask=KNOWN)
    rng = random.Random(SEED + 3 + blocks)
    for size in (1500, 4096, 16384, 65536 + 7):
        key, nonce = rng.randbytes((16, 32)[size % 2]), rng.randbytes(12)
        text, aad = rng.randbytes(size), rng.randbytes(rng.randrange(700))
        h, expected = _polyval(key, nonce, text, aad)
        chunks = (*split(rng, aad), *split(rng, text), _lengths(aad, text))
        what = f"GCM-SIV of {len(aad)} + {size} bytes"
        yield Case(Vector(h, ZERO, chunks), what, expected=expected, mask=KNOWN)


def products(count: int) -> list[Product]:
    """Return cases for NAME_mul: a hash of one block by two multiplications."""
    rng = random.Random(SEED + 4)
    out = []
    for block in edge_blocks(rng, count):
        key, nonce = rng.randbytes(16), rng.randbytes(12)
        h, expected = _polyval(key, nonce, b"", block)
        lengths = _lengths(block, b"")
        out.append(Product(h, block, lengths, expected=expected, mask=KNOWN))
    return out
