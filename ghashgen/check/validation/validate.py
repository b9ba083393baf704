"""Validates kernels, each by what its family brings as `validation`.

That module exports `validator(kernels)`, which returns a function that validates one kernel of a
run: (runner, kernel) → `Validation`.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

from ghashgen.check.validation.outcome import Validation
from ghashgen.check.validation.runners import Runner
from ghashgen.kernels.core import Point
from ghashgen.kernels.families import facet_of
from ghashgen.run.built import Built
from ghashgen.support.errors import GhashgenError
from ghashgen.support.parallel import workers

Validator = Callable[[Runner, Built[Any]], Validation]


def validate(
    kernels: Sequence[Built[Point]],
    runner_for: Callable[[Built[Point]], Runner],
    on_done: Callable[[Validation], None] = lambda result: None,
) -> list[Validation]:
    """Validate kernels in parallel threads; other processes do the work.

    An empty list is refused, so that nothing is called validated without having run.

    Raises:
        GhashgenError: there is no kernel, or nothing validates a kernel's family.
    """
    if not kernels:
        raise GhashgenError("no kernels to validate", "choose more")
    order = _spread(kernels)
    names = dict.fromkeys(built.kernel.family for built in kernels)
    one = {
        name: _validator(name, [built for built in kernels if built.kernel.family == name])
        for name in names
    }
    with ThreadPoolExecutor(workers()) as pool:
        chosen = [kernels[number] for number in order]
        futures = [pool.submit(one[b.kernel.family], runner_for(b), b) for b in chosen]
        try:
            for future in as_completed(futures):
                on_done(future.result())
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    found = {number: future.result() for number, future in zip(order, futures, strict=True)}
    return [found[number] for number in range(len(kernels))]


def _spread(kernels: Sequence[Built[Point]]) -> list[int]:
    """Return the places of kernels in an order in which each part of a run takes as long.

    Kernels with many functions, which take long, are spread evenly among the others. Those that
    share vectors follow each other.
    """
    alike: dict[int, list[int]] = {}
    for number in sorted(range(len(kernels)), key=lambda n: (-kernels[n].key_bytes, n)):
        alike.setdefault(len(kernels[number].exported), []).append(number)
    places = {
        number: (place + 0.5) / len(group)
        for group in alike.values()
        for place, number in enumerate(group)
    }
    return sorted(places, key=lambda number: places[number])


def _validator(name: str, kernels: Sequence[Built[Point]]) -> Validator:
    made: Validator = facet_of(name, "validation")(kernels)
    return made
