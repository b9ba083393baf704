"""A time limit on code in the main thread of a process; limits may be nested."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

_AGAIN = 10
"""Seconds after which the error is raised again, in case something dropped it."""

_SOON = 1e-6

_STOPPING: set[object] = set()
"""The handlers of the limits that are running: another timer of this process is no limit."""


class OutOfTimeError(BaseException):
    """The time is up. This is not an Exception, so that handlers of a task's errors do not catch
    it.
    """


class CutOffError(OutOfTimeError):
    """The time of the whole attack is up."""


@contextmanager
def limit(seconds: float, error: type[OutOfTimeError] = OutOfTimeError) -> Iterator[None]:
    """Raise `error` after this many seconds; `inf` sets no limit. An outer limit may end first.

    Only a main thread can be stopped.

    Raises:
        OutOfTimeError: the time is up.
    """
    around, again = signal.getitimer(signal.ITIMER_REAL)
    outer = around if signal.getsignal(signal.SIGALRM) in _STOPPING else 0
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or seconds == float("inf") or 0 < outer <= seconds:
        yield
        return

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        raise error

    start = time.monotonic()
    before = signal.signal(signal.SIGALRM, stop)
    _STOPPING.add(stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, max(seconds, _SOON), _AGAIN)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        _STOPPING.discard(stop)
        if around:
            left = around - (time.monotonic() - start)
            signal.setitimer(signal.ITIMER_REAL, max(left, _SOON), again)
