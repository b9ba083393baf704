"""Calls a function every few seconds while other work goes on, by a signal instead of a thread: a
process with threads cannot safely fork workers.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType


@contextmanager
def regularly(seconds: float, call: Callable[[], None]) -> Iterator[None]:
    """Call a function every `seconds`, except outside the main thread, without such a signal, or
    while another timer runs.

    The interval ends in forked processes.
    """
    main = threading.current_thread() is threading.main_thread()
    able = main and seconds > 0 and hasattr(signal, "setitimer")
    if not able or signal.getitimer(signal.ITIMER_REAL)[0]:
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        # The interrupted code may be writing to the same stream: then the next call says it.
        with suppress(RuntimeError):
            call()

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
