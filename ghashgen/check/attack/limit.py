"""A time limit on what runs in the main thread of a process, also inside another one."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

_AGAIN = 10
"""Seconds until it is raised again, if whatever it met dropped it."""

_SOON = 1e-6


class OutOfTimeError(BaseException):
    """The time is up. It is no Exception: nothing that catches faults of a task may catch it."""


class CutOffError(OutOfTimeError):
    """The time of the whole attack is up."""


@contextmanager
def limit(seconds: float, error: type[OutOfTimeError] = OutOfTimeError) -> Iterator[None]:
    """Raise an error after so many seconds; a limit around this one that ends first raises its own.

    Only a main thread can be stopped; `inf` sets no limit.

    Raises:
        OutOfTimeError: the time is up.
    """
    around, _ = signal.getitimer(signal.ITIMER_REAL)
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or seconds == float("inf") or 0 < around <= seconds:
        yield
        return

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        raise error

    start = time.monotonic()
    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, max(seconds, _SOON), _AGAIN)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if around:
            left = around - (time.monotonic() - start)
            signal.setitimer(signal.ITIMER_REAL, max(left, _SOON), _AGAIN)
