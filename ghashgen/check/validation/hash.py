"""Validates GHASH and POLYVAL: lengths around the group, long and split messages, CAVP, bounds."""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from ghashgen.check.sampled.cells import cell
from ghashgen.check.validation import cavp, columns, hashes, segments, siv
from ghashgen.check.validation.cases import (
    Case,
    every_length,
    long_messages,
    products,
    tail_bound,
    xor,
)
from ghashgen.check.validation.hashes import Hash
from ghashgen.check.validation.outcome import Validation
from ghashgen.check.validation.runners import Runner
from ghashgen.check.validation.trials import run
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.run.built import Built
from ghashgen.run.harness import Vector
from ghashgen.support.errors import GhashgenError

PRODUCTS = 64

TURNING = ("update", "column")
"""Functions with a loop that takes `blocks` blocks in a turn."""

SPLITS = 200
"""Messages that are also hashed in segments, for kernels with segments."""


@lru_cache(maxsize=1)
def _lengths(bound: int) -> tuple[Case, ...]:
    return tuple(every_length(bound))


def cases_for(kernel: Kernel, bound: int, sample: int) -> list[Case]:
    """Return a kernel's update cases; `bound` covers the largest kernel of a run.

    `sample` keeps one in so many CAVP records, which do not depend on the group size.
    """
    blocks = kernel.blocks
    if kernel.op == "polyval":
        return list(siv.cases(tail_bound(blocks), blocks))
    lengths = _lengths(max(bound, tail_bound(blocks)))[: tail_bound(blocks) + 1]
    return [*lengths, *long_messages(blocks), *cavp.cases()[::sample]]


def _updates(runner: Runner, built: Built[Kernel], cases: Sequence[Case]) -> Iterator[str]:
    states = runner.updates(built, [case.vector for case in cases])
    for case, state in zip(cases, states, strict=True):
        if not case.accepts(state):
            yield f"{case.what}: got {state.hex()}, expected {case.expected.hex()}"


def _products(runner: Runner, built: Built[Kernel]) -> Iterator[str]:
    make = siv.products if built.kernel.op == "polyval" else products
    cases = make(PRODUCTS)
    first = runner.products(built, [Vector(case.h, case.block) for case in cases])
    second = [Vector(c.h, xor(x, c.lengths)) for c, x in zip(cases, first, strict=True)]
    for case, state in zip(cases, runner.products(built, second), strict=True):
        if not case.accepts(state):
            yield f"mul of {case.block.hex()}: got {state.hex()}, expected {case.expected.hex()}"


def _segments(
    runner: Runner, built: Built[Kernel], split: Sequence[Case], exponents: Sequence[Case]
) -> Iterator[str]:
    """Hash split messages in segments, and raise H to powers."""
    answers = runner.segments(built, [case.vector for case in split])
    answers += runner.powers(built, [case.vector for case in exponents])
    for case, got in zip([*split, *exponents], answers, strict=True):
        if not case.accepts(got):
            yield f"{case.what}: got {got.hex()}, expected {case.expected.hex()}"


def turned(runner: Runner, built: Built[Kernel]) -> tuple[int, list[str]]:
    """Run the functions that have a loop at many turns of it."""
    kernel = built.kernel
    cells = tuple(cell(text) for text in kernel.layout.cells)
    asked = Hash(kernel.op, kernel.bit_order, kernel.blocks, cells, runner.sample > 1)
    own = [built.exported[name] for name in TURNING if name in built.exported]
    return run(runner, built, (trial for each in own for trial in hashes.turned(asked, each)))


def validator(kernels: Sequence[Built[Kernel]]) -> Callable[[Runner, Built[Kernel]], Validation]:
    """Return the function that validates one kernel of a run; the run shares vectors."""
    bound = max(tail_bound(built.kernel.blocks) for built in kernels)
    _lengths(bound)
    return lambda runner, built: validate_one(runner, built, bound)


def validate_one(runner: Runner, built: Built[Kernel], bound: int) -> Validation:
    """Validate one kernel; `bound` is the run's largest tail bound, so that vectors are shared."""
    start = time.perf_counter()
    cases = cases_for(built.kernel, bound, runner.sample)
    failures: list[str] = []
    made = 0
    split = list(segments.resplit(cases, SPLITS)) if built.kernel.segments else []
    exponents = segments.powers(built.kernel.op) if built.kernel.segments else []
    rows = list(columns.rows(cases, built.kernel.columns)) if built.kernel.columns > 1 else []
    try:
        failures += list(_updates(runner, built, cases))
        failures += list(_products(runner, built))
        if built.kernel.segments:
            failures += list(_segments(runner, built, split, exponents))
        if rows:
            failures += list(columns.faults(runner, built, rows))
        made, wrong = turned(runner, built)
        failures += wrong
        failures += runner.check(built)
    except GhashgenError as error:
        failures.append(str(error))
    return Validation(
        name=built.kernel.name,
        isa=built.kernel.isa,
        how=runner.how,
        cases=len(cases) + PRODUCTS + len(split) + len(exponents) + len(rows) + made,
        longest_tail=tail_bound(built.kernel.blocks),
        seconds=time.perf_counter() - start,
        failures=tuple(failures),
    )
