"""An interrupt, or SIGTERM, ends a verb at once: what it has found out by then, it still says.

What a shell runs in its background, without job control, has SIGINT ignored, and Python leaves it
so: `kill` is then what can end it.
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
"""Seconds in which a worker that was told to end may remove what it made."""


class _ToldToEnd(SystemExit):
    """A worker process is to end, and cleans up on its way out."""


@dataclass
class _Worker:
    told: bool = False
    """Whether it was told to end."""


_worker = _Worker()


def heed() -> None:
    """Take SIGTERM for an interrupt from now on; either ends worker processes at once.

    For the main thread. Workers that are forked inherit it, and are to call `obey`.
    """
    signal.signal(signal.SIGTERM, _interrupt)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _interrupt)


def obey() -> None:
    """Make this worker process end by SIGTERM alone, which the process that started it sends.

    An interrupt from a terminal reaches all processes, and that one decides what ends.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _end)


@contextmanager
def ending() -> Iterator[None]:
    """Work on one item of a worker; told to end, it removes what it made, and starts no other."""
    try:
        if not _worker.told:
            yield
            return
    except _ToldToEnd:
        pass
    os._exit(_ENDED)


def _end(number: int, frame: FrameType | None) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _worker.told = True
    # If what runs drops the error, the next item or this timer ends the worker all the same.
    watchdog = threading.Timer(_GRACE, os._exit, (_ENDED,))
    watchdog.daemon = True
    watchdog.start()
    raise _ToldToEnd(_ENDED)


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    import multiprocessing  # slow to import, and no verb needs it to begin

    # Nobody waits for their results any more, and a proof may take a minute.
    for child in multiprocessing.active_children():
        child.terminate()
    raise KeyboardInterrupt
