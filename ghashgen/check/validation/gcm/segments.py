"""Trials of `hash`, `power` and `combine`, which join a message whose text is in segments.

A text of the oracle is also a trial of `hash`, which takes its ciphertext and must end in its
state. Cut in two, with the second half from state 0, it is a trial of `combine`.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping

from ghashgen.algebra.field.bitorder import BLOCK_BYTES, xor_blocks
from ghashgen.algebra.field.ghash import ZERO_BLOCK, multiply_blocks
from ghashgen.check.validation.cases import SEED
from ghashgen.check.validation.ciphers import blocks_of, stepped
from ghashgen.check.validation.gcm.oracle import Key, Text, text
from ghashgen.check.validation.segments import EXPONENTS, power_of
from ghashgen.check.validation.trials import Part, Trial

Texts = Iterable[tuple[str, Text]]

CUT = 8
"""One text in this many is cut in two."""

PRODUCTS = 64
"""Number of products of arbitrary blocks."""


def hashed(texts: Texts, key_bytes: int) -> Iterator[Trial]:
    """Yield the texts as data to hash."""
    del key_bytes  # texts bring their keys
    for what, found in texts:
        given = {"x": found.x, "in": found.ciphertext}
        yield Trial("hash", what, found.key, given, [Part("x", found.x_after)])


def powers(texts: Texts, key_bytes: int) -> Iterator[Trial]:
    """Yield exponents; the answers come from the field's specification."""
    del texts  # H^m depends on no message
    rng = random.Random(SEED + 79 * key_bytes)
    for m in [*EXPONENTS, *(rng.getrandbits(64) for _ in range(32))]:
        key = Key(rng.randbytes(key_bytes))
        wanted = [Part("y", power_of(key.h, m, "ghash"))]
        yield Trial("power", f"the exponent {m}", key.key, {"m": m}, wanted)


def combined(texts: Texts, key_bytes: int) -> Iterator[Trial]:
    """Yield texts that are cut in two, and products of arbitrary blocks."""
    rng = random.Random(SEED + 83 * key_bytes)
    key = Key(rng.randbytes(key_bytes))
    for what, found in [*texts][::CUT]:
        yield _cut(rng, what, found)
    some = [bytes(BLOCK_BYTES), b"\xff" * BLOCK_BYTES]
    for _ in range(PRODUCTS):
        x, y, p = (rng.choice([*some, *(rng.randbytes(BLOCK_BYTES),) * 6]) for _ in range(3))
        wanted = [Part("x", xor_blocks(multiply_blocks(x, p), y))]
        yield Trial("combine", "any blocks", key.key, {"x": x, "y": y, "p": p}, wanted)


def _cut(rng: random.Random, what: str, found: Text) -> Trial:
    key, at = Key(found.key), rng.randrange(len(found.plaintext) // BLOCK_BYTES + 1)
    first, second = (found.plaintext[: at * BLOCK_BYTES], found.plaintext[at * BLOCK_BYTES :])
    before = text(key, found.counter, found.x, first)
    segment = text(key, stepped(found.counter, at), ZERO_BLOCK, second)
    p = power_of(key.h, blocks_of(second), "ghash")
    given = {"x": before.x_after, "y": segment.x_after, "p": p}
    wanted = [Part("x", found.x_after)]
    return Trial("combine", f"{what}, cut behind block {at}", found.key, given, wanted)


SUITES: Mapping[str, Callable[[Texts, int], Iterator[Trial]]] = {
    "hash": hashed,
    "power": powers,
    "combine": combined,
}
"""(texts, key size in bytes) → the trials of a function."""
