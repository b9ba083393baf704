"""What is made once a session: by the first process that asks, and read by the others."""

import fcntl
import os
import pickle
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from ghashgen.support.files import write_whole
from ghashgen.support.programs import digest
from ghashgen.support.toolchain import Tool, compile_c

T = TypeVar("T")

FOLDER = "GHASHGEN_TESTS"
"""The environment variable with the session's folder."""


def once(name: str, make: Callable[[], T]) -> T:
    """Return what `make` returns, as `shared` in the session's folder."""
    return shared(Path(os.environ[FOLDER]), name, make)


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


def compiled_once(kept: Path) -> Callable[..., None]:
    """Return a `compile_c` that keeps its objects in a folder, by all that they are made from.

    Most tests that run code build a harness of their own around other kernels; its C is the same.
    """

    def compiled(
        cc: Tool,
        source: Path,
        obj: Path,
        *,
        flags: Sequence[str] = (),
        include: Sequence[Path] = (),
    ) -> None:
        text, folders = source.read_bytes(), (source.parent, *include)
        read = {path for each in folders for path in each.rglob("*.h")}
        for name in re.findall(rb'#include "(\S+\.c)"', text):
            read |= {path for each in folders if (path := each / name.decode()).is_file()}
        words = [cc.version, *cc.command, *flags, source.name]
        made = kept / f"{digest(words, [text], [path.read_bytes() for path in sorted(read)])}.o"
        if not made.exists():
            compile_c(cc, source, made, flags=flags, include=include)
        write_whole(obj, made.read_bytes())

    return compiled
