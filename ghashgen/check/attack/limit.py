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


@contextmanager
def limit(seconds: float) -> Iterator[None]:
    """Raise OutOfTimeError after so many seconds, or when a limit around this one ends first.

    Only a main thread can be stopped; `inf` sets no limit.

    Raises:
        OutOfTimeError: the time is up.
    """
    if seconds == float("inf") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        raise OutOfTimeError

    start = time.monotonic()
    around, _ = signal.getitimer(signal.ITIMER_REAL)
    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, max(min(seconds, around or seconds), _SOON), _AGAIN)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if around:
            left = around - (time.monotonic() - start)
            signal.setitimer(signal.ITIMER_REAL, max(left, _SOON), _AGAIN)
