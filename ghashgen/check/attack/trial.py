"""Runs an object that the prover accepted, in processes of their own: it may crash, or never end.

On this CPU if it has what the code needs, else in the emulator:

- `harness/check.c`: every length up to two groups and a block, guard pages on both sides of every
  buffer, every alignment, saved registers, direction flag, stack;
- every length to three groups and two blocks, every length of a group further on, long random ones,
  with keys, states and messages that are random, all zero and all one; mul, power and combine
  likewise;
- update, mul and combine where the powers of the table are independent of each other.

And in the emulator whatever the CPU: what depends on a secret and should not (`leaks`).
"""

import random
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from queue import Queue

from iced_x86 import Decoder

from ghashgen.arch.x86_64.cpuid import cpu_features
from ghashgen.arch.x86_64.features import FEATURES
from ghashgen.check.attack import cases
from ghashgen.check.attack.leaks import leaks
from ghashgen.check.sampled import runs
from ghashgen.check.sampled.stranger import structures
from ghashgen.check.sampled.subject import Plan, Subject, structure_of, subject_of
from ghashgen.check.validation.cases import Case
from ghashgen.check.validation.runners import Emulated, Native, Runner
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.run.built import Built
from ghashgen.run.emulate import Emulator
from ghashgen.run.emulate.image import load_object
from ghashgen.run.harness import Harness, build
from ghashgen.support.errors import GhashgenError
from ghashgen.support.files import write_whole
from ghashgen.support.sealed import seal_of
from ghashgen.support.toolchain import find_cc

POINTS = 6
"""Points with independent powers at each length."""


@dataclass(frozen=True)
class Ran:
    """What running it showed."""

    how: str
    calls: int
    wrong: str = ""
    """The first call that was wrong, and how; empty if none was."""
    not_run: str = ""
    """Why it was not run, the same words for all of a kind."""
    why: str = ""
    """More of that."""


def run(
    data: bytes, original: Built[Kernel], folder: Path, seed: str, emulate: bool = False
) -> Ran:
    """Run an object that claims to be what another one is; `emulate` asks for the emulator.

    Raises:
        GhashgenError: there is no emulator here, or no C compiler.
    """
    path = folder / f"accepted-{sha256(data).hexdigest()[:24]}.o"
    write_whole(path, data)
    built = replace(original, obj=path)
    try:
        return _run(built, folder, random.Random(seed), emulate)
    finally:
        path.unlink(missing_ok=True)


def _needs(built: Built[Kernel]) -> tuple[str, ...]:
    """Return the CPU features of the object, of those that the harness knows.

    Bytes that are never executed may look like any instruction.
    """
    segments = load_object(built.obj).segments
    found = cpu_features(
        i for part in segments if part.kind == "x" for i in Decoder(64, part.content)
    )
    return tuple(name for name in FEATURES if name in {*found, *built.features})


def _run(built: Built[Kernel], folder: Path, rng: random.Random, emulate: bool) -> Ran:
    find_cc()
    try:
        needs = _needs(built)
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
            # That there is none is no fault of the object's: asked before it is run.
            emulator.features()
            free: Queue[Emulator] = Queue()
            free.put(emulator)
            runner: Runner = Emulated(free) if emulate else Native(harness)
            return _tried(built, harness, runner, emulator, rng)
    finally:
        harness.program.unlink(missing_ok=True)
        seal_of(harness.program).unlink(missing_ok=True)


def _tried(
    built: Built[Kernel], harness: Harness, runner: Runner, emulator: Emulator, rng: random.Random
) -> Ran:
    calls = 0
    try:
        for made, wrong in _trials(built, harness, runner, emulator, rng):
            calls += made
            if wrong:
                return Ran(runner.how, calls, wrong)
    except GhashgenError as stopped:
        # It faulted, did not return, or took the harness down with it.
        return Ran(runner.how, calls, str(stopped))
    return Ran(runner.how, calls)


def _trials(
    built: Built[Kernel], harness: Harness, runner: Runner, emulator: Emulator, rng: random.Random
) -> Iterator[tuple[int, str]]:
    """Yield how many calls a trial made, and what was wrong."""
    yield from _swept(built, harness, runner)
    yield from _answered(built, runner, rng)
    yield _independent(built, harness, runner)
    yield leaks(emulator, load_object(built.obj), built)


def _swept(built: Built[Kernel], harness: Harness, runner: Runner) -> Iterator[tuple[int, str]]:
    """Run the runner's own sweep."""
    if isinstance(runner, Native):
        report = harness.check(built.kernel.name)
        calls, findings = report.calls, [f for f in report.findings if not f.ok]
        faults = [f"{f.category}: {f.detail or 'did not run'}" for f in findings]
    else:
        calls, faults = 0, runner.check(built)
    yield calls, faults[0] if faults else ""


def _answered(
    built: Built[Kernel], runner: Runner, rng: random.Random
) -> Iterator[tuple[int, str]]:
    op, few = built.kernel.op, isinstance(runner, Emulated)
    updates = cases.updates(op, built.kernel.blocks, rng, few)
    for start in range(0, len(updates), 512):
        some = updates[start : start + 512]
        yield _compared(some, runner.updates(built, [case.vector for case in some]))
    products = cases.products(op, rng)[:: 16 if few else 1]
    yield _compared(products, runner.products(built, [case.vector for case in products]))
    if built.kernel.segments:
        powers = cases.powers(op, rng)[:: 16 if few else 1]
        yield _compared(powers, runner.powers(built, [case.vector for case in powers]))
        cut = cases.segments(updates, rng)[:: 8 if few else 1]
        yield _compared(cut, runner.segments(built, [case.vector for case in cut]))


def _compared(asked: Sequence[Case], answers: Sequence[bytes]) -> tuple[int, str]:
    for case, state in zip(asked, answers, strict=True):
        if not case.accepts(state):
            h, x = case.vector.h.hex(), case.vector.x.hex()
            right = case.expected.hex()
            return (
                len(asked),
                f"{case.what}, subkey {h}, state {x}: got {state.hex()}, expected {right}",
            )
    return len(asked), ""


def _plan(subject: Subject) -> Plan:
    """Return the plan for a few points everywhere: no bound is claimed, so no degree is needed."""
    combine = 1 if "combine" in subject.functions else None
    return Plan(dict.fromkeys(subject.lengths, 1), 1, combine)


def _independent(built: Built[Kernel], harness: Harness, runner: Runner) -> tuple[int, str]:
    """Run it with independent powers; its groups may differ from those of the original."""
    subject = subject_of(built)
    tried = dict.fromkeys((structure_of(built.kernel), *structures(built.kernel.blocks)))
    calls, wrong = 0, ""
    for structure in tried:
        fitted = replace(subject, structure=structure)
        if isinstance(runner, Emulated):
            found = runs.emulated(
                harness, runner.free, fitted, _plan(fitted), count=lambda degree: 1
            )
        else:
            (found,) = runs.natively(harness, [fitted], [_plan(fitted)], bits=POINTS)
        calls += found.calls
        if found.ok:
            return calls, ""
        wrong = wrong or f"with independent powers: {found.failures[0]}"
    return calls, wrong
