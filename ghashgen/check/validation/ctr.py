"""Validates AES-CTR: round keys, every length around two groups, wrapping counters, many turns.

The right text is pyca's AES-CTR. Its counter has 128 bits, so a text is cut where the last 32 wrap.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache

from ghashgen.algebra.field import aes
from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.field.counter import gctr
from ghashgen.check.validation import pyca
from ghashgen.check.validation.cases import SEED, tail_bound
from ghashgen.check.validation.ciphers import (
    CARRIES,
    LENGTHS_PER_KEY,
    LONG,
    blocks_of,
    counter_before,
    expanding,
    keys,
    some_counter,
    stepped,
)
from ghashgen.check.validation.outcome import Validation
from ghashgen.check.validation.runners import Runner
from ghashgen.check.validation.trials import INIT, Part, Trial, validated
from ghashgen.check.validation.turns import lengths, on_both_sides
from ghashgen.kernels.ctr.kernel import CtrKernel
from ghashgen.run.built import Built
from ghashgen.support.errors import GhashgenError

CRYPT = "crypt"

BLOCKS_OF_A_WORD = 1 << 32
"""Blocks after which the counter is the same again."""

KNOWN = {
    16: "2b7e151628aed2a6abf7158809cf4f3c",
    24: "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b",
    32: "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
}
"""Keys of SP 800-38A, F.5, by size in bytes."""

KNOWN_COUNTER = bytes(range(0xF0, 0x100))

KNOWN_TEXT = bytes.fromhex(
    "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"
    "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710"
)

KNOWN_OUTPUT = {
    16: "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff"
    "5ae4df3edbd5d35e5b4f09020db03eab1e031dda2fbe03d1792170a0f3009cee",
    24: "1abc932417521ca24f2b0459fe7e6e0b090339ec0aa6faefd5ccc2c6f4ce8e94"
    "1e36b26bd1ebc670d1bd1d665620abf74f78a7f6d29809585a97daec58c6b050",
    32: "601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5"
    "2b0930daa23de94ce87017ba2d84988ddfc9c58db67aada613c2dd08457941a6",
}
"""The same texts encrypted."""


def other_text(key: bytes, counter: bytes, text: bytes) -> bytes:
    """Return pyca's result for a text."""
    left = BLOCKS_OF_A_WORD - int.from_bytes(counter[12:], "big")
    first, rest = text[: left * BLOCK_BYTES], text[left * BLOCK_BYTES :]
    return pyca.ctr(key, counter, first) + pyca.ctr(key, stepped(counter, left), rest)


def crypting(key: bytes, counter: bytes, text: bytes, out: bytes, in_place: bool = False) -> Trial:
    """Return the trial of a call."""
    parts = Part("out", out), Part("counter", stepped(counter, blocks_of(text)))
    what = f"{len(text)} bytes from counter {counter.hex()}"
    return Trial(CRYPT, what, key, {"counter": counter, "in": text}, parts, in_place=in_place)


def trial(key: bytes, counter: bytes, text: bytes, in_place: bool = False) -> Trial:
    """Return the trial of a text, with pyca's result."""
    return crypting(key, counter, text, other_text(key, counter, text), in_place)


def known(key_bytes: int) -> Iterator[Trial]:
    """Yield the standard's example, each length of it."""
    key, out = bytes.fromhex(KNOWN[key_bytes]), bytes.fromhex(KNOWN_OUTPUT[key_bytes])
    for size in range(len(out) + 1):
        yield crypting(key, KNOWN_COUNTER, KNOWN_TEXT[:size], out[:size], bool(size & 1))


def expanded(key: bytes) -> Trial:
    """Return the trial of a key; the round keys are the whole context."""
    return expanding(key, range(0, BLOCK_BYTES * (aes.ROUNDS[len(key)] + 1), BLOCK_BYTES))


@lru_cache(maxsize=8)
def every_length(key_bytes: int, bound: int) -> tuple[Trial, ...]:
    """Return a text of every length 0..bound in bytes, apart and in place.

    Raises:
        GhashgenError: pyca and the specification differ on one of the first texts.
    """
    rng, out = random.Random(SEED + key_bytes), list[Trial]()
    for length in range(bound + 1):
        if length % LENGTHS_PER_KEY == 0:
            key = rng.randbytes(key_bytes)
        counter, text = some_counter(rng, length), rng.randbytes(length)
        for in_place in (False, True):
            out.append(trial(key, counter, text, in_place))
        if length < 2 * BLOCK_BYTES + 2:
            _require_right(out[-1])
    return tuple(out)


def _require_right(found: Trial) -> None:
    counter, text = bytes(found.given["counter"]), bytes(found.given["in"])
    if gctr(lambda block: aes.cipher(found.key, block), counter, text) != found.parts[0].wanted:
        raise GhashgenError(
            f"pyca and the specification differ on {found.what}",
            "one of them is not what it should be",
        )


@lru_cache(maxsize=8)
def wraps(key_bytes: int, blocks: int) -> tuple[Trial, ...]:
    """Return the longest of these texts, the counter wrapping or carrying before each block."""
    rng = random.Random(SEED + 16 * blocks + key_bytes)
    key, length = rng.randbytes(key_bytes), tail_bound(blocks)
    return tuple(
        trial(key, counter_before(rng, carry - at), rng.randbytes(length), bool(at & 1))
        for carry in CARRIES
        for at in range(2 * blocks + 3)
    )


@lru_cache(maxsize=8)
def turned(key_bytes: int, blocks: int, few: bool) -> tuple[Trial, ...]:
    """Return texts of many turns of the loop, and long ones."""
    rng = random.Random(SEED + 97 * key_bytes + blocks)
    key = rng.randbytes(key_bytes)
    among = (*lengths(blocks, few), *(() if few else LONG))
    return tuple(trial(key, some_counter(rng, n), rng.randbytes(n)) for n in among)


def _crypted(key_bytes: int, blocks: int, bound: int, sample: int) -> Iterator[Trial]:
    yield from known(key_bytes)
    every = every_length(key_bytes, max(bound, tail_bound(blocks)))[: 2 * (tail_bound(blocks) + 1)]
    # If sampled, alternately apart and in place: both occur at every length modulo 16.
    yield from (
        each
        for number, each in enumerate(every)
        if sample == 1 or each.in_place == bool((number >> 1 ^ number >> 5) & 1)
    )
    yield from wraps(key_bytes, blocks)
    yield from on_both_sides(turned(key_bytes, blocks, sample > 1), sample > 1)


SUITES: Mapping[str, Callable[[int, int, int, int], Iterator[Trial]]] = {
    INIT: lambda key_bytes, blocks, bound, sample: map(expanded, keys(key_bytes)),
    CRYPT: _crypted,
}
"""(key size in bytes, blocks of a group, longest tail of a run, one in how many) → the trials of a
function.
"""


def validator(
    kernels: Sequence[Built[CtrKernel]],
) -> Callable[[Runner, Built[CtrKernel]], Validation]:
    """Return the function that validates one kernel of a run; the run shares vectors."""
    bound = max(tail_bound(built.kernel.blocks) for built in kernels)
    for size in {built.kernel.key_bytes for built in kernels}:
        every_length(size, bound)
    return lambda runner, built: validate_one(runner, built, bound)


def validate_one(runner: Runner, built: Built[CtrKernel], bound: int) -> Validation:
    """Validate one kernel; a function without trials is a failure."""
    kernel, known = built.kernel, [name for name in built.exported if name in SUITES]
    every = (SUITES[n](kernel.key_bytes, kernel.blocks, bound, runner.sample) for n in known)
    return validated(runner, built, every, SUITES)
