"""Runs a driver of the threads under valgrind."""

import shutil
import subprocess
from pathlib import Path

from helpers.threading_runtime import Driver

VALGRIND_H = Path(__file__).with_name("threads_valgrind.h")


def under_valgrind(driver: Driver, tool: str, *words: object) -> int:
    valgrind = shutil.which("valgrind")
    command = [valgrind, f"--tool={tool}", "--error-exitcode=9", "-q", driver.path]
    found = subprocess.run(
        [*map(str, command), *map(str, words)], capture_output=True, check=False, timeout=300
    )
    return found.returncode
