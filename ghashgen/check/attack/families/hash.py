"""Trials of GHASH and POLYVAL: the harness's sweep, answers from the field, independent powers.

- `harness/check.c`: every length up to two groups and a block, guard pages on both sides of every
  buffer, every alignment, saved registers, direction flag, stack;
- every length up to three groups and two blocks, every length of a group further on, long random
  ones; keys, states and messages random, all zero and all one; mul, power and combine likewise;
  messages of whole blocks also as columns, one row for each block;
- update and column at many turns of their loop (`check.validation.turns`);
- update, mul and combine with independent powers in the table.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ghashgen.check.attack import cases
from ghashgen.check.attack.accepted import AT_ONCE, Accepted
from ghashgen.check.attack.leaks import leaks
from ghashgen.check.sampled import runs
from ghashgen.check.sampled.stranger import structures
from ghashgen.check.sampled.subject import Plan, Subject, structure_of, subject_of
from ghashgen.check.validation import columns
from ghashgen.check.validation.cases import Case
from ghashgen.check.validation.hash import turned
from ghashgen.check.validation.runners import Emulated, Native
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.run.emulate.image import load_object

POINTS = 6
"""Points with independent powers at each length."""


def trials(found: Accepted[Kernel]) -> Iterator[tuple[int, str]]:
    """Yield how many calls a trial made, and what was wrong."""
    yield _swept(found)
    yield from _answered(found)
    made, wrong = turned(found.runner, found.built)
    yield made, next(iter(wrong), "")
    yield _independent(found)
    yield leaks(found.emulator, load_object(found.built.obj), found.built)


def _swept(found: Accepted[Kernel]) -> tuple[int, str]:
    """Run the runner's own sweep."""
    built, runner = found.built, found.runner
    if isinstance(runner, Native):
        calls, faults = runner.swept(built)
        faults += runner.placed(built)
    else:
        calls, faults = 0, runner.check(built)
    return calls, faults[0] if faults else ""


def _answered(found: Accepted[Kernel]) -> Iterator[tuple[int, str]]:
    built, runner, rng, few = found.built, found.runner, found.rng, found.few
    op = built.kernel.op
    updates = cases.updates(op, built.kernel.blocks, rng, few)
    for start in range(0, len(updates), AT_ONCE):
        some = updates[start : start + AT_ONCE]
        yield _compared(some, runner.updates(built, [case.vector for case in some]))
    products = cases.products(op, rng)[:: 16 if few else 1]
    yield _compared(products, runner.products(built, [case.vector for case in products]))
    if built.kernel.columns > 1:
        yield from _columns(found, updates)
    if built.kernel.segments:
        powers = cases.powers(op, rng)[:: 16 if few else 1]
        yield _compared(powers, runner.powers(built, [case.vector for case in powers]))
        cut = cases.segments(updates, rng)[:: 8 if few else 1]
        yield _compared(cut, runner.segments(built, [case.vector for case in cut]))


def _columns(found: Accepted[Kernel], updates: Sequence[Case]) -> Iterator[tuple[int, str]]:
    """Hash the messages of whole blocks as columns, one row for each block, up to as many
    groups.
    """
    rows = list(columns.rows(updates, found.built.kernel.columns))
    for start in range(0, len(rows), AT_ONCE):
        some = rows[start : start + AT_ONCE]
        yield len(some), next(columns.faults(found.runner, found.built, some), "")


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
    """Return a plan of a few points everywhere. It needs no degree, because no bound is claimed."""
    combine = 1 if "combine" in subject.functions else None
    return Plan(dict.fromkeys(subject.lengths, 1), 1, combine)


def _independent(found: Accepted[Kernel]) -> tuple[int, str]:
    """Run it with independent powers; its groups may differ from the original's."""
    built, harness, runner = found.built, found.harness, found.runner
    subject = subject_of(built)
    tried = dict.fromkeys((structure_of(built.kernel), *structures(built.kernel.blocks)))
    calls, wrong = 0, ""
    for structure in tried:
        fitted = replace(subject, structure=structure)
        if isinstance(runner, Emulated):
            ran = runs.emulated(harness, runner.free, fitted, _plan(fitted), count=lambda degree: 1)
        else:
            (ran,) = runs.natively(harness, [fitted], [_plan(fitted)], bits=POINTS)
        calls += ran.calls
        if ran.ok:
            return calls, ""
        wrong = wrong or f"with independent powers: {ran.failures[0]}"
    return calls, wrong
