"""SIGTERM ends a verb as an interrupt does: what it has found out by then, it still says.

What a shell runs in its background, without job control, has SIGINT ignored, and Python leaves it
so: `kill` is then what can end it.
"""

import signal
from types import FrameType
from typing import NoReturn


def heed() -> None:
    """Take SIGTERM for an interrupt from now on; worker processes end at once.

    For the main thread. Workers that are forked inherit it, and are to call `unheed`.
    """
    signal.signal(signal.SIGTERM, _interrupt)


def unheed() -> None:
    """End by SIGTERM, as a process does that never asked."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    import multiprocessing  # slow to import, and no verb needs it to begin

    # Nobody waits for their results any more, and a proof may take a minute.
    for child in multiprocessing.active_children():
        child.terminate()
    raise KeyboardInterrupt
