"""An interrupt ends a verb's workers, whatever they are doing."""

import subprocess
import sys

import pytest

INTERRUPTED = """
import os, signal, sys
from ghashgen.support.parallel import run
from ghashgen.support.termination import heed

def large(item):
    return bytes(1 << 20)

def done(item):
    # Most of the time of these workers goes into sending.
    if item == 20:
        os.kill(os.getpid(), signal.SIGTERM)

heed()
try:
    run(large, range(640), done, jobs=2)
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.mark.parametrize("turn", range(3))
def test_workers_end_although_they_are_sending(turn: int) -> None:
    """A result that breaks off would be waited for forever."""
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], timeout=30, check=False)
    assert done.returncode == 130
