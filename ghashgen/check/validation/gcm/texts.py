"""Texts for `encrypt` and `decrypt`: every length around the group, wrapping counters, long ones.

Each text of the oracle is two trials: `encrypt` must turn its plaintext into its ciphertext,
`decrypt` must do the reverse, and both must end in the same counter and state.
"""

import random
from collections.abc import Iterable, Iterator
from functools import lru_cache

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.check.validation.cases import SEED, tail_bound
from ghashgen.check.validation.ciphers import (
    CARRIES,
    LENGTHS_PER_KEY,
    LONG,
    counter_before,
    some_counter,
)
from ghashgen.check.validation.gcm.oracle import Key, Text, differences, text
from ghashgen.check.validation.trials import Part, Trial
from ghashgen.support.errors import GhashgenError

RANDOM_LONG = 6


@lru_cache(maxsize=8)
def every_length(key_bytes: int, bound: int) -> tuple[Text, ...]:
    """Return one text of every length 0..bound in bytes.

    Raises:
        GhashgenError: pyca and the specification differ on one of the first texts.
    """
    rng = random.Random(SEED + key_bytes)
    out = []
    for length in range(bound + 1):
        if length % LENGTHS_PER_KEY == 0:
            key = Key(rng.randbytes(key_bytes))
        x, plaintext = rng.randbytes(BLOCK_BYTES), rng.randbytes(length)
        out.append(text(key, some_counter(rng, length), x, plaintext))
    for found in out[: 2 * BLOCK_BYTES + 2]:
        if wrong := list(differences(found)):
            raise GhashgenError(
                f"pyca and the specification differ on {wrong[0]} of {len(found.plaintext)} bytes",
                "one of them is not what it should be",
            )
    return tuple(out)


@lru_cache(maxsize=8)
def wraps(key_bytes: int, blocks: int) -> tuple[Text, ...]:
    """Return the longest of these texts, with the counter wrapping or carrying before each
    block.
    """
    rng = random.Random(SEED + 16 * blocks + key_bytes)
    key, length = Key(rng.randbytes(key_bytes)), tail_bound(blocks)
    return tuple(
        text(
            key, counter_before(rng, carry - at), rng.randbytes(BLOCK_BYTES), rng.randbytes(length)
        )
        for carry in CARRIES
        for at in range(2 * blocks + 3)
    )


@lru_cache(maxsize=8)
def long(key_bytes: int) -> tuple[Text, ...]:
    """Return long texts."""
    rng = random.Random(SEED + 7 * key_bytes)
    key = Key(rng.randbytes(key_bytes))
    lengths = (*LONG, *(rng.randrange(1, 20000) for _ in range(RANDOM_LONG)))
    return tuple(
        text(key, some_counter(rng, n), rng.randbytes(BLOCK_BYTES), rng.randbytes(n))
        for n in lengths
    )


def encrypting(found: Text, what: str, in_place: bool = False) -> Trial:
    """Return the trial of `encrypt` for a text."""
    return _trial("encrypt", found, what, in_place, found.plaintext, found.ciphertext)


def decrypting(found: Text, what: str, in_place: bool = False) -> Trial:
    """Return the trial of `decrypt` for a text."""
    return _trial("decrypt", found, what, in_place, found.ciphertext, found.plaintext)


def _trial(
    function: str, found: Text, what: str, in_place: bool, source: bytes, out: bytes
) -> Trial:
    given = {"counter": found.counter, "x": found.x, "in": source}
    parts = (Part("out", out), Part("counter", found.counter_after), Part("x", found.x_after))
    return Trial(function, what, found.key, given, parts, in_place=in_place)


def texts(key_bytes: int, blocks: int, bound: int, sample: int) -> Iterator[tuple[str, Text]]:
    """Yield the texts of a kernel; `bound` covers the largest kernel of a run.

    One in `sample` of the long texts is kept.
    """
    lengths = every_length(key_bytes, max(bound, tail_bound(blocks)))
    yield from _named(lengths[: tail_bound(blocks) + 1])
    yield from _named(wraps(key_bytes, blocks))
    yield from _named(long(key_bytes)[::sample])


def _named(found: Iterable[Text]) -> Iterator[tuple[str, Text]]:
    for each in found:
        yield f"{len(each.plaintext)} bytes from counter {each.counter.hex()}", each
