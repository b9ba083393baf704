"""Validates kernels in a host's layout: the trials of a hash and of AES-GCM, as the host calls."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

from ghashgen.algebra.field import aes
from ghashgen.algebra.field.bitorder import Order
from ghashgen.check.sampled.cells import cell
from ghashgen.check.validation import hashes
from ghashgen.check.validation.cases import tail_bound
from ghashgen.check.validation.gcm import turns
from ghashgen.check.validation.gcm.oracle import Key
from ghashgen.check.validation.gcm.validator import SUITES, Wanted
from ghashgen.check.validation.outcome import Validation
from ghashgen.check.validation.runners import Runner
from ghashgen.check.validation.trials import Part, Trial, validated
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
    keys, number = b"".join(aes.key_expansion(key)), aes.ROUNDS[len(key)] - kernel.host.rounds_less
    return keys.ljust(kernel.host.rounds_at, _GARBAGE) + number.to_bytes(4, "little")


def _as_called(kernel: GivenKernel, trial: Trial, subkey: bytes) -> Trial:
    """Return a trial of our own functions as one of the host's."""
    params = kernel.host.functions[trial.function].params
    names = {param.role: param.name for param in params}
    written = {param.name for param in params if param.written}
    given = {names[_ROLES[name]]: value for name, value in trial.given.items()}
    if "halves" in names:
        given[names["halves"]] = halves(subkey)
    if "schedule" in names:
        given[names["schedule"]] = schedule(kernel, trial.key)
    parts = [Part(names[_ROLES[part.name]], part.wanted, part.at) for part in trial.parts]
    kept = [part for part in parts if part.name in written]
    return replace(trial, key=halves(subkey), given=given, parts=kept)


def _trials(runner: Runner, built: Built[GivenKernel]) -> Iterator[Iterator[Trial]]:
    """Yield the trials of each function."""
    kernel, few = built.kernel, runner.sample > 1
    order, cells = Order(kernel.hash.order), tuple(map(cell, kernel.layout.cells))
    asked = hashes.Hash("ghash", order, kernel.blocks, cells, few)
    for name, own in built.exported.items():
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
    return validated(runner, built, _trials(runner, built), {*hashes.SUITES, *SUITES})
