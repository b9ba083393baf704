"""What is made once a session: by the first process that asks, and read by the others."""

from __future__ import annotations

import fcntl
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


def shared(folder: Path, name: str, make: Callable[[], T]) -> T:
    """Return what `make` returns, from a file of the session's folder that the first caller writes.

    Whoever asks while it is made waits. Not for what a test makes of patched code: a name stands
    for one value.
    """
    path = folder / f"{name}.pickle"
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            path.write_bytes(pickle.dumps(make()))
    found: T = pickle.loads(path.read_bytes())
    return found
