"""Vectors with answers from pyca/cryptography.

pyca exports GMAC but not GHASH. With H = E_K(0^128) and a 96-bit IV, the tag is
GHASH_H(A ‖ 0* ‖ C ‖ 0* ‖ lengths) + E_K(J0) (SP 800-38D, section 7.1). So pyca's tag + E_K(J0) is
the GHASH that a kernel must reach by updates over A, C and the length block.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.check.validation import pyca
from ghashgen.run.harness import Vector

ZERO = bytes(BLOCK_BYTES)
SEED = 0x6748415348
"""Seed of every random choice: the same vectors on every machine."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The first bytes of a final state, and which of their bits are known."""

    expected: bytes
    mask: bytes = b"\xff" * BLOCK_BYTES

    def accepts(self, state: bytes) -> bool:
        """Return whether a final state agrees in the known bits."""
        return all(
            not (got ^ want) & known
            for got, want, known in zip(state, self.expected, self.mask, strict=False)
        )


@dataclass(frozen=True)
class Case(Answer):
    """A vector and the state it must end in."""

    vector: Vector
    what: str


def xor(a: bytes, b: bytes) -> bytes:
    """Return a + b."""
    return bytes(x ^ y for x, y in zip(a, b, strict=True))


def length_block(aad: bytes, text: bytes) -> bytes:
    """Return [len(A)]64 ‖ [len(C)]64, lengths in bits."""
    return (8 * len(aad)).to_bytes(8, "big") + (8 * len(text)).to_bytes(8, "big")


def _gcm(key: bytes, iv: bytes, plaintext: bytes, aad: bytes) -> tuple[bytes, bytes, bytes]:
    """Return (hash subkey, ciphertext, GHASH) from pyca's AES-GCM."""
    sealed = pyca.gcm(key, iv, plaintext, aad)
    ciphertext, tag = sealed[:-BLOCK_BYTES], sealed[-BLOCK_BYTES:]
    mask = pyca.encrypt_block(key, iv + b"\x00\x00\x00\x01")
    return pyca.encrypt_block(key, ZERO), ciphertext, xor(tag, mask)


def tail_bound(blocks: int) -> int:
    """Return the largest length that every kernel is run at: all paths of two groups and a tail."""
    return (2 * blocks + 1) * BLOCK_BYTES + BLOCK_BYTES - 1


def every_length(bound: int) -> Iterator[Case]:
    """Yield one GMAC case for every length 0..bound in bytes; the key changes every 16."""
    rng = random.Random(SEED)
    key = b""
    for length in range(bound + 1):
        key = key if length % BLOCK_BYTES else rng.randbytes(16)
        iv, aad = rng.randbytes(12), rng.randbytes(length)
        H, _, expected = _gcm(key, iv, b"", aad)
        vector = Vector(H, ZERO, (aad, length_block(aad, b"")))
        yield Case(vector, f"GMAC of {length} bytes", expected=expected)


def long_messages(blocks: int) -> Iterator[Case]:
    """Yield GCM cases of random long lengths, with AAD and ciphertext split over several updates.

    Splits are at multiples of 16 bytes, because an update pads its input.
    """
    rng = random.Random(SEED + blocks)
    lengths = [1500, 4096, 16384, 65536 + 7, *(rng.randrange(1, 20000) for _ in range(12))]
    for index, length in enumerate(lengths):
        key, iv = rng.randbytes((16, 24, 32)[index % 3]), rng.randbytes(12)
        plaintext, aad = rng.randbytes(length), rng.randbytes(rng.randrange(0, 700))
        H, ciphertext, expected = _gcm(key, iv, plaintext, aad)
        chunks = (*split(rng, aad), *split(rng, ciphertext), length_block(aad, ciphertext))
        what = f"GCM of {len(aad)} + {length} bytes"
        yield Case(Vector(H, ZERO, chunks), what, expected=expected)


def split(rng: random.Random, data: bytes) -> list[bytes]:
    """Cut data at random multiples of 16 bytes."""
    pieces: list[bytes] = []
    at = 0
    while at < len(data):
        size = BLOCK_BYTES * rng.randrange(0, 2 + len(data) // (3 * BLOCK_BYTES))
        pieces.append(data[at : at + size])
        at += size
    return pieces


@dataclass(frozen=True)
class Product(Answer):
    """A hash of one block by two multiplications: ((C·H) + L)·H."""

    h: bytes
    block: bytes
    lengths: bytes


def edge_blocks(rng: random.Random, count: int) -> list[bytes]:
    """Return `count` blocks: all zeros, all ones, single bits at both ends, then random ones."""
    blocks = [ZERO, b"\xff" * BLOCK_BYTES, b"\x80" + bytes(15), bytes(15) + b"\x01"]
    return [*blocks, *(rng.randbytes(BLOCK_BYTES) for _ in range(count - len(blocks)))]


def products(count: int) -> list[Product]:
    """Return cases for NAME_mul, edge blocks first."""
    rng = random.Random(SEED + 1)
    out = []
    for block in edge_blocks(rng, count):
        key, iv = rng.randbytes(16), rng.randbytes(12)
        H, _, expected = _gcm(key, iv, b"", block)
        out.append(Product(H, block, length_block(block, b""), expected=expected))
    return out
