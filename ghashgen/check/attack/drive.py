"""Drives a part: hands out its tasks until the budget is spent, and adds up their outcomes.

A budget's time is a hard bound: unfinished tasks are cut off and counted as such.
"""

import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from ghashgen.check.attack.core import Finding, Options, Outcome, Part
from ghashgen.check.attack.limit import CutOffError, limit
from ghashgen.support.errors import GhashgenError
from ghashgen.support.parallel import stream


@dataclass(frozen=True)
class Budget:
    """How much of a part is tried."""

    count: int | None = None
    """Number of tasks."""
    seconds: float | None = None
    """Time limit. If `count` is also None, all tasks are tried."""
    first: int = 0
    """Skip the tasks before this number."""


CUT_OFF = "tasks cut off by the end of the time"

_Bundle = tuple[int, tuple[Any, ...]]
"""The number of the first task, and tasks."""


def _work(part: Part, options: Options, deadline: float, bundle: _Bundle) -> Outcome:
    first, tasks = bundle
    total = Outcome()
    for number, task in enumerate(tasks, first):
        # All processes of a machine share this clock.
        left = deadline - time.monotonic()
        if left <= 0:
            break
        try:
            with limit(left, CutOffError):
                total += _one(part, options, number, task)
        except CutOffError:
            return total + Outcome(not_run={CUT_OFF: 1})
    return total


def _one(part: Part, options: Options, number: int, task: Any) -> Outcome:
    """Work on one task. An unexpected exception becomes a finding, so that it neither ends the run
    nor goes unseen.
    """
    try:
        return part.work(options, task)
    except GhashgenError:
        raise  # missing for all tasks alike
    except Exception as error:
        repeat = f"{options.repeating(part.name, number)} --jobs 1"
        files = {"traceback.txt": traceback.format_exc()}
        wrong = f"the attack itself stopped: {type(error).__name__}: {error}"
        return Outcome(findings=(Finding(f"{part.name}, task {number}", wrong, repeat, files),))


def _bundles(tasks: Iterator[Any], size: int, first: int, deadline: float) -> Iterator[_Bundle]:
    while time.monotonic() < deadline and (bundle := tuple(islice(tasks, size))):
        yield first, bundle
        first += len(bundle)


def drive(
    part: Part,
    options: Options,
    budget: Budget,
    jobs: int | None = None,
    on_finding: Callable[[Finding], None] = lambda finding: None,
    on_done: Callable[[Outcome], None] = lambda outcome: None,
) -> Iterator[Outcome]:
    """Yield the sum of outcomes so far, after every few tasks; the last one is the total.

    After an interrupt, the caller has the last sum that was yielded.

    Raises:
        GhashgenError: a worker process ended unexpectedly.
    """
    last = None if budget.count is None else budget.first + budget.count
    tasks = islice(part.tasks(options), budget.first, last)
    deadline = time.monotonic() + (float("inf") if budget.seconds is None else budget.seconds)
    total = Outcome()
    done = 0
    results = stream(
        partial(_work, part, options, deadline),
        _bundles(tasks, part.together, budget.first, deadline),
        jobs,
    )
    try:
        for outcome in results:
            for finding in outcome.findings:
                on_finding(finding)
            total += outcome
            done += part.together
            on_done(outcome)
            yield total
    except BrokenProcessPool:
        raise GhashgenError(
            f"{part.name}: a worker process ended in a task from number {budget.first + done} on",
            f"find it: --part {part.name} --seed {options.seed} "
            f"--first {budget.first + done} --jobs 1",
        ) from None
    finally:
        results.close()
