"""What trials of every AES mode share: keys to expand, counter blocks, long lengths."""

import random
from collections.abc import Iterator, Sequence

from ghashgen.algebra.field import aes
from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.check.validation.cases import SEED
from ghashgen.check.validation.trials import INIT, Part, Trial

KEYS = 64
"""Number of keys to expand, including zeros and ones."""

LENGTHS_PER_KEY = 64

LONG = (1500, 4096, 16384, 65536, 65536 + 7)

CARRIES = (2**32, 2**24, 2**16, 2**8)
"""Numbers at which bytes of the counter's last word become 0; the first wraps the word."""


def keys(size: int) -> Iterator[bytes]:
    """Yield keys of a size in bytes to expand."""
    rng = random.Random(SEED + 3 * size)
    yield from (bytes(size), b"\xff" * size, *(rng.randbytes(size) for _ in range(KEYS - 2)))


def expanding(key: bytes, places: Sequence[int]) -> Trial:
    """Return the trial of `init` for a key; its round keys are at these offsets of the context.

    They must be those of FIPS 197, section 5.2.
    """
    words = b"".join(aes.key_expansion(key))
    own = (words[at : at + BLOCK_BYTES] for at in range(0, len(words), BLOCK_BYTES))
    parts = [Part("ctx", one, at) for one, at in zip(own, places, strict=True)]
    return Trial(INIT, f"key {key.hex()}", key, {"key": key}, parts)


def stepped(counter: bytes, blocks: int) -> bytes:
    """Return inc32 of a counter block, applied `blocks` times, forwards or backwards."""
    last = (int.from_bytes(counter[12:], "big") + blocks) % 2**32
    return counter[:12] + last.to_bytes(4, "big")


def blocks_of(text: bytes) -> int:
    """Return the number of counter blocks that a text uses."""
    return -(-len(text) // BLOCK_BYTES)


def counter_before(rng: random.Random, last: int) -> bytes:
    """Return a counter block that ends in a number; its other 96 bits are random or all ones."""
    prefix = rng.choice((rng.randbytes(12), b"\xff" * 12))
    return prefix + (last % 2**32).to_bytes(4, "big")


def some_counter(rng: random.Random, length: int) -> bytes:
    """Return any counter block, or one that carries during a text."""
    carry = rng.choice((*CARRIES, rng.getrandbits(32)))
    return counter_before(rng, carry - rng.randrange(2 + length // BLOCK_BYTES))
