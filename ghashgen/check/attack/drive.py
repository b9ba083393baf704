"""Drives a part: hands out its tasks until the budget is spent, and adds up what became of them.

The time of a budget is a bound: a task that has not ended by then is cut off where it stands, and
counted so.
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
    """So many tasks,"""
    seconds: float | None = None
    """or as many as so many seconds allow; neither: all that there are."""
    first: int = 0
    """Tasks before this number are left out."""


CUT_OFF = "tasks cut off by the end of the time"

_Bundle = tuple[int, tuple[Any, ...]]
"""The number of the first task, and tasks."""


def _work(part: Part, options: Options, deadline: float, bundle: _Bundle) -> Outcome:
    first, tasks = bundle
    total = Outcome()
    for number, task in enumerate(tasks, first):
        # The clock is one for all processes of a machine.
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
    """Work on one task; what it cannot cope with must end no night, and must not go unseen."""
    try:
        return part.work(options, task)
    except GhashgenError:
        raise  # what is missing here, is missing for all tasks
    except Exception as error:
        repeat = repeating(part, options, number)
        files = {"traceback.txt": traceback.format_exc()}
        wrong = f"the attack itself stopped: {type(error).__name__}: {error}"
        return Outcome(findings=(Finding(f"{part.name}, task {number}", wrong, repeat, files),))


def repeating(part: Part, options: Options, number: int) -> str:
    """Return the command that works on one task alone, as it was."""
    return (
        f"ghashgen attack --part {part.name} --seed {options.seed} --first {number} --count 1 "
        f"--jobs 1"
    )


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
