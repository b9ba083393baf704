"""Ends a child process that answers on its standard output."""

import subprocess

_SECONDS = 5
"""Seconds that a child may take to end once its input is closed."""


def end(process: subprocess.Popen[bytes]) -> None:
    """Close the pipes and wait for the child to end; kill it if that takes too long."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except OSError:
                continue
    try:
        process.wait(timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
