"""AES-GCM at many turns of the loops over text, AAD and IV (`check.validation.turns`).

Texts and AAD both run through these lengths: each with short ones of the other, and with long ones
where lengths are drawn. A message is opened with its tag; if its text has one of these lengths,
also with a wrong tag, which zeroes as much of `out`.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.check.validation.cases import SEED, tail_bound
from ghashgen.check.validation.ciphers import some_counter
from ghashgen.check.validation.gcm import messages, texts
from ghashgen.check.validation.gcm.messages import MOST_AAD, Message, message
from ghashgen.check.validation.gcm.oracle import Key, Text, text
from ghashgen.check.validation.gcm.streams import Calls, some
from ghashgen.check.validation.records import USUAL_IV
from ghashgen.check.validation.trials import Part, Trial
from ghashgen.check.validation.turns import lengths, on_both_sides


@lru_cache(maxsize=8)
def _texts(key_bytes: int, blocks: int, few: bool) -> tuple[Text, ...]:
    rng = random.Random(SEED + 97 * key_bytes + blocks)
    key = Key(rng.randbytes(key_bytes))
    return tuple(
        text(key, some_counter(rng, n), rng.randbytes(BLOCK_BYTES), rng.randbytes(n))
        for n in lengths(blocks, few)
    )


@lru_cache(maxsize=8)
def _messages(key_bytes: int, blocks: int, few: bool) -> tuple[Message, ...]:
    rng = random.Random(SEED + 101 * key_bytes + blocks)
    key, long = Key(rng.randbytes(key_bytes)), lengths(blocks, few)
    # AAD lengths below two turns too: around two groups only short ones were combined with every
    # text.
    near = () if few else range(MOST_AAD + 1, tail_bound(blocks) + 1)
    pairs = [*_with_short(long), *((n, aad) for aad, n in _with_short([*near, *long]))]
    both = list(zip(long, rng.sample(long, len(long)), strict=True))
    pairs += both[:: len(both) // 8]
    return tuple(
        message(key, rng.randbytes(USUAL_IV), rng.randbytes(aad), rng.randbytes(n))
        for n, aad in pairs
    )


def _with_short(long: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield lengths, each with one from 0 to MOST_AAD."""
    for number, length in enumerate(long):
        yield length, 7 * number % (MOST_AAD + 1)


def _crypted(
    make: Callable[[Text, str], Trial], key_bytes: int, blocks: int, few: bool
) -> Iterator[Trial]:
    for found in _texts(key_bytes, blocks, few):
        yield make(found, f"{len(found.plaintext)} bytes from counter {found.counter.hex()}")


def _hashed(found: Text, what: str) -> Trial:
    given = {"x": found.x, "in": found.ciphertext}
    return Trial("hash", what, found.key, given, [Part("x", found.x_after)])


def _sealed(key_bytes: int, blocks: int, few: bool) -> Iterator[Trial]:
    for found in _messages(key_bytes, blocks, few):
        yield messages.sealing(found, False)


def _opened(key_bytes: int, blocks: int, few: bool) -> Iterator[Trial]:
    found = _messages(key_bytes, blocks, few)
    yield from (messages.opening(each, False) for each in found)
    forged = (each for each in found if len(each.plaintext) > MOST_AAD)
    yield from (messages.forged(each, 5 * bit % 128) for bit, each in enumerate(forged))


@lru_cache(maxsize=4)
def _pieces(key_bytes: int, blocks: int, few: bool) -> Mapping[str, Sequence[Trial]]:
    """Return pieces from separate states, at every place of a block."""
    rng = random.Random(SEED + 103 * key_bytes + blocks)
    calls, key = Calls(), Key(rng.randbytes(key_bytes))
    for length in lengths(1, few):
        if length:
            calls.start(key, rng.randbytes(length))
    for number, length in enumerate(lengths(blocks, few)):
        place = (number + (number >> 4)) % BLOCK_BYTES
        calls.aad(some(rng, key, place + BLOCK_BYTES * rng.randrange(5)), rng.randbytes(length))
        for encrypts in (True, False):
            # After AAD alone, or after text.
            before = (place, 0) if number % 5 == 0 else (rng.randrange(100), place + BLOCK_BYTES)
            calls.text(some(rng, key, *before), rng.randbytes(length), encrypts)
    return calls.trials


def _streamed(function: str, key_bytes: int, blocks: int, few: bool) -> Iterator[Trial]:
    yield from _pieces(key_bytes, blocks, few)[function]


TRIALS: Mapping[str, Callable[[int, int, bool], Iterator[Trial]]] = {
    "encrypt": partial(_crypted, texts.encrypting),
    "decrypt": partial(_crypted, texts.decrypting),
    "seal": _sealed,
    "open": _opened,
    **{name: partial(_streamed, name) for name in ("start", "aad", "encrypt_more", "decrypt_more")},
    "hash": partial(_crypted, _hashed),
}
"""(key size in bytes, blocks of a group, whether few) → trials, for functions with a loop."""


def trials(function: str, key_bytes: int, blocks: int, few: bool) -> Iterator[Trial]:
    """Yield the trials of a function; none if its loops make no more turns than were run
    already.
    """
    if function in TRIALS:
        yield from on_both_sides(TRIALS[function](key_bytes, blocks, few), few)
