"""Validates kernels, each by the module that its family names (`Family.validation`).

That module exports `validator(kernels)`, which returns what validates one kernel of a run:
(runner, kernel) → `Validation`.
"""

import importlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ghashgen.check.validation.outcome import Validation
from ghashgen.check.validation.runners import Runner
from ghashgen.kernels.core import Point
from ghashgen.kernels.families import families
from ghashgen.run.built import Built
from ghashgen.support.errors import GhashgenError
from ghashgen.support.parallel import workers

Validator = Callable[[Runner, Built[Any]], Validation]


def validate(
    kernels: Sequence[Built[Point]],
    runner_for: Callable[[Built[Point]], Runner],
    on_done: Callable[[Validation], None] = lambda result: None,
) -> list[Validation]:
    """Validate kernels, in parallel threads: the work is done in other processes.

    An empty list of kernels is refused, so that nothing unrun is ever called validated.

    Raises:
        GhashgenError: there is no kernel, or one of a family that nothing validates.
    """
    if not kernels:
        raise GhashgenError("no kernel to validate", "widen the choice")
    names = dict.fromkeys(built.kernel.family for built in kernels)
    one = {
        name: _validator(name, [built for built in kernels if built.kernel.family == name])
        for name in names
    }
    results = []
    with ThreadPoolExecutor(workers()) as pool:
        futures = [pool.submit(one[b.kernel.family], runner_for(b), b) for b in kernels]
        try:
            for future in futures:
                results.append(future.result())
                on_done(results[-1])
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return results


def _validator(name: str, kernels: Sequence[Built[Point]]) -> Validator:
    family = families()[name]
    if not family.validation:
        raise GhashgenError(f"nothing validates kernels of {family.title}", "choose others")
    made: Validator = importlib.import_module(family.validation).validator(kernels)
    return made
