"""Ends a verb at once on an interrupt or SIGTERM; it still reports what it has found.

A shell without job control starts background programs with SIGINT ignored, and Python keeps it so;
`kill` can then end them.
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import NoReturn

_ENDED = 128 + signal.SIGTERM
"""The exit status of a worker that was told to end."""


_GRACE = 5
"""Seconds in which a worker that was told to end may clean up."""


class _ToldToEnd(SystemExit):
    """Ends a worker process, which cleans up on its way out."""


@dataclass
class _Worker:
    told: bool = False
    """Whether it was told to end."""
    busy: bool = False
    """Whether it works on an item. Else it may be sending a result, and whoever reads one that
    breaks off waits forever.
    """


_worker = _Worker()


def heed() -> None:
    """From now on treat SIGTERM as an interrupt; both end worker processes at once.

    Call it in the main thread. Forked workers inherit it and must call `obey`.
    """
    signal.signal(signal.SIGTERM, _interrupt)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _interrupt)


def obey() -> None:
    """Make this worker end only by SIGTERM, which the process that started it sends.

    An interrupt from a terminal reaches all processes, and that process decides what ends.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _end)


@contextmanager
def ending() -> Iterator[None]:
    """Work on one item of a worker; if told to end, clean up and start no other."""
    try:
        _worker.busy = True
        if not _worker.told:
            yield
            return
    except _ToldToEnd:
        pass
    finally:
        _worker.busy = False
    os._exit(_ENDED)


def _end(number: int, frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _worker.told = True
    # If the code drops the error, the next item or this timer still ends the worker.
    watchdog = threading.Timer(_GRACE, os._exit, (_ENDED,))
    watchdog.daemon = True
    watchdog.start()
    if _worker.busy:
        raise _ToldToEnd(_ENDED)


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    import multiprocessing  # slow to import, and not needed before

    # Nobody waits for their results any more, and a proof may take a minute.
    for child in multiprocessing.active_children():
        child.terminate()
    raise KeyboardInterrupt
