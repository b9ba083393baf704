"""Finds a Python interpreter that has PeachPy.

Debian's python3-peachpy installs only for the system's Python, which a virtual environment does not
see. PyPI's package of that name is a placeholder of 2013 without instructions.
"""

import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from ghashgen.support.errors import GhashgenError

REMEDY = "apt-get install python3-peachpy"
VARIABLE = "GHASHGEN_PEACHPY_PYTHON"
WORKER = Path(__file__).with_name("worker.py")
_SYSTEM = "/usr/bin/python3"
_SECONDS = 30


@dataclass(frozen=True)
class PeachPyTool:
    """A Python interpreter that can import PeachPy."""

    python: Path
    version: str
    """The interpreter's version; PeachPy itself has none."""
    package: str
    """Where PeachPy is installed."""


def _candidates() -> tuple[str, ...]:
    named = os.environ.get(VARIABLE)
    if named:
        return (named,)
    own = (sys.executable,) if importlib.util.find_spec("peachpy") else ()
    return (*own, _SYSTEM)


def _ask(python: str) -> PeachPyTool | str:
    """Return the tool, or why this interpreter cannot be used."""
    try:
        result = subprocess.run(
            [python, str(WORKER)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except OSError as error:
        return f"{python}: {error.strerror}"
    except subprocess.TimeoutExpired:
        return f"{python}: no answer in {_SECONDS} s"
    try:
        hello = json.loads(result.stdout)
        if "ready" in hello:
            return PeachPyTool(Path(python), hello["python"], hello["ready"])
        return f"{python}: {hello['detail']}"
    except (ValueError, KeyError):
        last = result.stderr.strip().splitlines()[-1:] or [f"status {result.returncode}"]
        return f"{python}: {last[0]}"


def find() -> PeachPyTool | None:
    """Return the first interpreter that can import PeachPy, or None.

    If GHASHGEN_PEACHPY_PYTHON is set, only the interpreter that it names is tried; otherwise the
    current one, then /usr/bin/python3.
    """
    try:
        return require()
    except GhashgenError:
        return None


def require() -> PeachPyTool:
    """Return what `find` returns.

    Raises:
        GhashgenError: no interpreter has PeachPy; says what the last one answered.
    """
    detail = ""
    for python in _candidates():
        answer = _ask(python)
        if isinstance(answer, PeachPyTool):
            return answer
        detail = answer
    raise GhashgenError(f"PeachPy not found ({detail})", REMEDY)
