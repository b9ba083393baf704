"""Runs one function over many items in worker processes, in order, interruptibly."""

import gc
import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from functools import partial
from typing import TypeVar

from ghashgen.support.termination import ending, obey

Item = TypeVar("Item")
Result = TypeVar("Result")


def workers() -> int:
    """Return how many processes this process may keep busy."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _begin() -> None:
    """Start a worker. What is imported by now stays forever, so collections can skip it."""
    obey()
    gc.freeze()
    gc.disable()


def _one(function: Callable[[Item], Result], item: Item) -> Result:
    """Work on one item in a worker, and collect garbage once at its end.

    Collections in between find little to free: a proof makes a million small values and drops them
    at its end. They took a sixth of its time.
    """
    with ending():
        result = function(item)
        gc.collect()
        return result


def run(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    on_done: Callable[[Item], None] = lambda item: None,
    jobs: int | None = None,
    spread: bool = False,
) -> list[Result]:
    """Return [function(item) for item in items]; `on_done` is called for each item in order.

    `spread` hands out items one by one, for items that take seconds rather than milliseconds. The
    first exception, or an interrupt, cancels what has not begun and is raised.
    """
    jobs = min(jobs or workers(), len(items))
    results: list[Result] = []
    if jobs <= 1:
        for item in items:
            results.append(function(item))
            on_done(item)
        return results
    with ProcessPoolExecutor(jobs, initializer=_begin) as pool:
        try:
            # Chunks keep the cost of a round trip small compared with a few milliseconds of work,
            # and are short enough that no worker has much left when the others are done.
            chunk = 1 if spread else max(1, len(items) // (jobs * 32))
            found = pool.map(partial(_one, function), items, chunksize=chunk)
            for item, result in zip(items, found, strict=True):
                results.append(result)
                on_done(item)
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return results


_AHEAD = 4
"""Items that wait for each worker of `stream`."""


def stream(
    function: Callable[[Item], Result], items: Iterable[Item], jobs: int | None = None
) -> Generator[Result, None, None]:
    """Yield function(item) for each item, in order; the items may be endless.

    Items are drawn a few ahead. Closing the iterator cancels what has not begun, as do an exception
    and an interrupt.
    """
    jobs = jobs or workers()
    if jobs == 1:
        yield from map(function, items)
        return
    waiting: deque[Future[Result]] = deque()
    with ProcessPoolExecutor(jobs, initializer=_begin) as pool:
        try:
            for item in items:
                waiting.append(pool.submit(_one, function, item))
                if len(waiting) >= jobs * _AHEAD:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
