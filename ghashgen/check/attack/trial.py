"""Runs an object that the prover accepted in separate processes: it may crash, or never end.

It runs on this CPU if that has the features, else in the emulator. Its family says which calls are
made (its facet `trials`).
"""

import random
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from queue import Queue

from ghashgen.check.attack.accepted import Accepted, Trials
from ghashgen.check.validation.runners import Emulated, Native, Runner
from ghashgen.kernels.core import Point
from ghashgen.kernels.families import facet_of
from ghashgen.run.built import Built
from ghashgen.run.emulate import Emulator
from ghashgen.run.emulate.needed import needed
from ghashgen.run.harness import build
from ghashgen.support.errors import GhashgenError
from ghashgen.support.files import write_whole
from ghashgen.support.sealed import seal_of
from ghashgen.support.toolchain import find_cc


@dataclass(frozen=True)
class Ran:
    """The result of running it."""

    how: str
    calls: int
    wrong: str = ""
    """The first wrong call, and how it was wrong; or ""."""
    not_run: str = ""
    """Why it was not run, in the same words for all of a kind."""
    why: str = ""
    """Details of `not_run`."""


def run(
    data: bytes,
    original: Built[Point],
    folder: Path,
    seed: str,
    emulate: bool = False,
    brief: bool = False,
) -> Ran:
    """Run an object that claims to be another one; `emulate` asks for the emulator, `brief` for
    fewer calls.

    Raises:
        GhashgenError: there is no emulator here, or no C compiler.
    """
    path = folder / f"accepted-{sha256(data).hexdigest()[:24]}.o"
    write_whole(path, data)
    built = replace(original, obj=path)
    try:
        return _run(built, folder, random.Random(seed), emulate, brief)
    finally:
        path.unlink(missing_ok=True)


def _run(built: Built[Point], folder: Path, rng: random.Random, emulate: bool, brief: bool) -> Ran:
    find_cc()
    try:
        needs = needed(built.obj, built.features)
    except GhashgenError as refusal:
        return Ran("", 0, not_run="the reader of objects to run refuses it", why=refusal.cause)
    try:
        harness = build([replace(built.harness_kernel, needs=needs)], folder)
    except GhashgenError as refusal:
        return Ran("", 0, not_run="the linker refuses it", why=refusal.cause)
    try:
        present = harness.features()
        emulate = emulate or not all(present[name] for name in needs)
        with ExitStack() as stack:
            emulator = stack.enter_context(Emulator())
            # Ask first: a missing emulator is no fault of the object.
            emulator.features()
            free: Queue[Emulator] = Queue()
            free.put(emulator)
            runner: Runner = Emulated(free) if emulate else Native(harness)
            return _tried(Accepted(built, harness, runner, emulator, rng, brief))
    finally:
        harness.program.unlink(missing_ok=True)
        seal_of(harness.program).unlink(missing_ok=True)


def _tried(found: Accepted[Point]) -> Ran:
    calls = 0
    try:
        for made, wrong in _trials(found):
            calls += made
            if wrong:
                return Ran(found.runner.how, calls, wrong)
    except GhashgenError as stopped:
        # It faulted, did not return, or crashed the harness.
        return Ran(found.runner.how, calls, str(stopped))
    return Ran(found.runner.how, calls)


def _trials(found: Accepted[Point]) -> Iterator[tuple[int, str]]:
    trials: Trials = facet_of(found.built.kernel.family, "trials")
    return trials(found)
