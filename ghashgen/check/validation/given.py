"""Validates kernels in a host's layout: the trials of a hash and of AES-GCM, as the host calls."""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, product
from typing import Any

from ghashgen.algebra.field import aes
from ghashgen.algebra.field.bitorder import Order, xor_blocks
from ghashgen.algebra.field.gcm import length_block
from ghashgen.algebra.field.ghash import multiply_blocks
from ghashgen.check.sampled.cells import cell
from ghashgen.check.validation import ciphers, hashes, pyca
from ghashgen.check.validation.cases import SEED, tail_bound
from ghashgen.check.validation.gcm import turns
from ghashgen.check.validation.gcm.oracle import Key
from ghashgen.check.validation.gcm.validator import SUITES, Wanted
from ghashgen.check.validation.outcome import Validation
from ghashgen.check.validation.runners import Runner
from ghashgen.check.validation.trials import Part, Trial, validated
from ghashgen.kernels.gcm.parts.lengths import MOST_OTHERS, MOST_TEXT
from ghashgen.kernels.given.kernel import GivenKernel
from ghashgen.run.built import Built

_ROLES = {
    "table": "table",
    "h": "halves",
    "x": "state",
    "in": "input",
    "out": "output",
    "counter": "first_counter",
}
"""The role of each of our own parameters, by its name, in a host's interface."""

_GARBAGE = b"\xa5"
"""Fills the round keys that a shorter key lacks."""


def halves(h: bytes) -> bytes:
    """Return a subkey as two numbers in memory, each of 8 of its bytes, big-endian."""
    return h[7::-1] + h[:7:-1]


def schedule(kernel: GivenKernel, key: bytes) -> bytes:
    """Return the key schedule of a host."""
    keys, number = b"".join(aes.key_expansion(key)), kernel.host.told(aes.ROUNDS[len(key)])
    return keys.ljust(kernel.host.rounds_at, _GARBAGE) + number.to_bytes(4, "little")


def _key(kernel: GivenKernel, schedule: bytes, h: bytes) -> bytes:
    """Return a key that has the table of a subkey behind its schedule; b"" is no subkey."""
    cells = tuple(map(cell, kernel.layout.cells))
    table = hashes.table(cells, Order(kernel.hash.order), "ghash", h) if h else []
    return schedule.ljust(kernel.host.table_at, _GARBAGE) + b"".join(table).ljust(
        kernel.layout.size, _GARBAGE
    )


def _turned(kernel: GivenKernel, name: str, value: Any) -> Any:
    """Return one of our parameters' values as the host has it in memory."""
    return value[::-1] if kernel.host.reverses and name in ("x", "counter") else value


def _inits(kernel: GivenKernel, size: int) -> Iterator[Trial]:
    """Yield keys whose table is to be filled."""
    for key in ciphers.keys(size):
        keys = schedule(kernel, key)
        wanted = Part("key", _key(kernel, keys, Key(key).h))
        yield Trial("init", f"key {key.hex()}", key, {"key": _key(kernel, keys, b"")}, [wanted])


def _finals(kernel: GivenKernel, size: int) -> Iterator[Trial]:
    """Yield states and lengths, with the tag that they make."""
    rng = random.Random(SEED + size)
    for aad, text in product((0, 1, 13, MOST_OTHERS), (0, 16, 1500, MOST_TEXT)):
        key, x, counter = Key(rng.randbytes(size)), rng.randbytes(16), rng.randbytes(16)
        hashed = multiply_blocks(xor_blocks(x, length_block(aad, text)), key.h)
        mask = pyca.encrypt_block(key.key, counter[:12] + b"\0\0\0\1")
        given = {
            "key": _key(kernel, schedule(kernel, key.key), key.h),
            "le_ctr": _turned(kernel, "counter", counter),
            "acc": _turned(kernel, "x", x),
            "aad_len": aad,
            "len": text,
        }
        tag = Part("acc", xor_blocks(hashed, mask))
        yield Trial("final", f"{aad} and {text} bytes", key.key, given, [tag])


_OF_A_KEY = {"init": _inits, "final": _finals}
"""Trials of functions whose key has the table."""


def _as_called(kernel: GivenKernel, trial: Trial, subkey: bytes) -> Trial:
    """Return a trial of our own functions as one of the host's."""
    params = kernel.host.functions[trial.function].params
    names = {param.role: param.name for param in params}
    written = {param.name for param in params if param.written}
    given = {names[_ROLES[n]]: _turned(kernel, n, value) for n, value in trial.given.items()}
    if kernel.host.table_at:
        given[names["table"]] = _key(kernel, schedule(kernel, trial.key), subkey)
    if "halves" in names:
        given[names["halves"]] = halves(subkey)
    if "schedule" in names:
        given[names["schedule"]] = schedule(kernel, trial.key)
    parts = [
        Part(names[_ROLES[part.name]], _turned(kernel, part.name, part.wanted), part.at)
        for part in trial.parts
        if part.name in _ROLES
    ]
    kept = [part for part in parts if part.name in written]
    return replace(trial, key=halves(subkey), given=given, parts=kept)


def _trials(runner: Runner, built: Built[GivenKernel]) -> Iterator[Iterator[Trial]]:
    """Yield the trials of each function."""
    kernel, few = built.kernel, runner.sample > 1
    order, cells = Order(kernel.hash.order), tuple(map(cell, kernel.layout.cells))
    asked = hashes.Hash("ghash", order, kernel.blocks, cells, few)
    for name, own in built.exported.items():
        if kernel.host.table_at and name in _OF_A_KEY:
            yield from (_OF_A_KEY[name](kernel, size) for size in aes.ROUNDS)
            continue
        if name in hashes.SUITES:
            some = hashes.SUITES[name](asked, own)
            yield (_as_called(kernel, trial, trial.key) for trial in some)
            continue
        for size in aes.ROUNDS:
            wanted = Wanted(
                size, kernel.blocks, (), tail_bound(kernel.blocks), runner.sample, few, False
            )
            every = chain(SUITES[name](wanted), turns.trials(name, size, kernel.blocks, few))
            yield (_as_called(kernel, trial, Key(trial.key).h) for trial in every)


def validator(
    kernels: Sequence[Built[GivenKernel]],
) -> Callable[[Runner, Built[GivenKernel]], Validation]:
    """Return the function that validates one kernel of a run."""
    return validate_one


def validate_one(runner: Runner, built: Built[GivenKernel]) -> Validation:
    """Validate one kernel; each function has trials."""
    return validated(runner, built, _trials(runner, built), {*hashes.SUITES, *SUITES, *_OF_A_KEY})
