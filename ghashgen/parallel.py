"""Runs one function over many items in worker processes, in order, interruptibly."""

import gc
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def workers() -> int:
    """Return how many processes this process may keep busy."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    on_done: Callable[[Item], None] = lambda item: None,
    jobs: int | None = None,
    spread: bool = False,
) -> list[Result]:
    """Return [function(item) for item in items]; `on_done` is called as each one's turn comes.

    `spread` hands items out one by one: right where they take seconds rather than milliseconds.
    The first exception, or an interrupt, cancels what has not begun and is raised.
    """
    jobs = min(jobs or workers(), len(items))
    results: list[Result] = []
    if jobs <= 1:
        for item in items:
            results.append(function(item))
            on_done(item)
        return results
    # What was imported stays for good: no worker's garbage collection need walk over it.
    with ProcessPoolExecutor(jobs, initializer=gc.freeze) as pool:
        try:
            # Chunks keep the cost of a round trip small against a few milliseconds of work.
            chunk = 1 if spread else max(1, len(items) // (jobs * 8))
            for item, result in zip(items, pool.map(function, items, chunksize=chunk), strict=True):
                results.append(result)
                on_done(item)
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return results
