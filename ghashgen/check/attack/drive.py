"""Drives a part: hands out its tasks until the budget is spent, and adds up what became of them."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from ghashgen.check.attack.core import Finding, Options, Outcome, Part
from ghashgen.support.errors import GhashgenError
from ghashgen.support.parallel import stream


@dataclass(frozen=True)
class Budget:
    """How much of a part is tried."""

    count: int | None = None
    """So many tasks,"""
    seconds: float | None = None
    """or as many as begin in so many seconds; neither: all that there are."""
    first: int = 0
    """Tasks before this number are left out."""


def _work(part: Part, options: Options, tasks: tuple[Any, ...]) -> Outcome:
    return sum((part.work(options, task) for task in tasks), Outcome())


def _bundles(tasks: Iterator[Any], size: int, deadline: float) -> Iterator[tuple[Any, ...]]:
    while time.monotonic() < deadline and (bundle := tuple(islice(tasks, size))):
        yield bundle


def drive(
    part: Part,
    options: Options,
    budget: Budget,
    jobs: int | None = None,
    on_finding: Callable[[Finding], None] = lambda finding: None,
    on_done: Callable[[Outcome], None] = lambda outcome: None,
) -> Iterator[Outcome]:
    """Yield what became of all tasks so far, after every few; the last is what became of all.

    Interrupted, whoever asked has what was yielded last.

    Raises:
        GhashgenError: a worker process came to its end.
    """
    last = None if budget.count is None else budget.first + budget.count
    tasks = islice(part.tasks(options), budget.first, last)
    deadline = time.monotonic() + (float("inf") if budget.seconds is None else budget.seconds)
    total = Outcome()
    done = 0
    results = stream(partial(_work, part, options), _bundles(tasks, part.together, deadline), jobs)
    try:
        for outcome in results:
            for finding in outcome.findings:
                on_finding(finding)
            total += outcome
            done += part.together
            on_done(outcome)
            yield total
            if time.monotonic() >= deadline:
                return
    except BrokenProcessPool:
        raise GhashgenError(
            f"{part.name}: a worker process ended in a task from number {budget.first + done} on",
            f"find it: --part {part.name} --seed {options.seed} "
            f"--first {budget.first + done} --jobs 1",
        ) from None
    finally:
        results.close()
