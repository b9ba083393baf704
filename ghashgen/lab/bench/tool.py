"""Measures how long the tool itself takes: one kernel, the catalogue, make's main job, all proofs.

It measures wall time on at most two cores and reuses nothing: new verdicts go to a temporary
folder. Figures are stored by CPU, one for each line, with the sources that they were measured
with, so a run without the long ones keeps those.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import asdict

from ghashgen.arch.schedules import WRITTEN
from ghashgen.check import proofs
from ghashgen.kernels.core import Point
from ghashgen.kernels.target import target
from ghashgen.output.artefact import make
from ghashgen.output.generate import generate
from ghashgen.run.built import Built
from ghashgen.support.documents import Document
from ghashgen.support.errors import GhashgenError
from ghashgen.support.toolchain import find_assembler
from ghashgen.support.wording import counted

FOLDER = "docs/tool-speed"
"""The folder of the records, below the project's root: CPU.json, with CPU as in docs/bench."""

SCHEMA = 1
CORES = 2
RUNS = 3

MEDIAN = "one kernel, median"
WORST = "one kernel, worst without schedule"
SCHEDULED = "one kernel, worst with a schedule"
CATALOGUE = "the catalogue"
JOB = "make, kernels native"
EMULATED = "make, kernels emulated"
PROOFS = "prove of every kernel"

TARGETS = MappingProxyType(
    {
        MEDIAN: 0.050,
        WORST: 0.150,
        SCHEDULED: None,
        CATALOGUE: 15.0,
        JOB: 120.0,
        EMULATED: 300.0,
        PROOFS: 360.0,
    }
)
"""Seconds; set on a Cascade Lake at 2.5 GHz. None without a target."""


class Figure(Struct, frozen=True, forbid_unknown_fields=True):
    """One measured time."""

    what: str
    """A key of TARGETS."""
    seconds: float
    note: str
    """Which kernel, or out of how many; where the time went."""
    cores: int
    sources: str
    """The commit, with + if the tree had changes."""

    @property
    def verdict(self) -> str:
        """Met, or by how much it is missed."""
        wanted = TARGETS[self.what]
        if wanted is None:
            return "no target"
        if self.seconds <= wanted:
            return f"met, {self.seconds / wanted:.0%} of it"
        return f"missed by {shown(self.seconds - wanted)}"


def shown(seconds: float) -> str:
    """Return a time in milliseconds or seconds."""
    return f"{1000 * seconds:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


@contextmanager
def two_cores() -> Iterator[int]:
    """Stay on two cores, including children; yields how many there are (1 on a one-core
    machine).
    """
    if not hasattr(os, "sched_setaffinity"):
        yield os.cpu_count() or 1
        return
    before = os.sched_getaffinity(0)
    chosen = sorted(before)[:CORES]
    os.sched_setaffinity(0, chosen)
    try:
        yield len(chosen)
    finally:
        os.sched_setaffinity(0, before)


Seconds = tuple[str, float, str]
"""A figure as measured: (what, seconds, note)."""


def one_kernel(
    kernels: Sequence[Point], on_done: Callable[[Point], None] = lambda kernel: None
) -> list[Seconds]:
    """Compile, render, assemble and audit each kernel RUNS times in this process; take medians.

    This is what `generate` does for a kernel, without starting the interpreter.
    """
    where = target()
    assembler = find_assembler(where.syntax.assembler)
    # Warm up: what happens once in a process, such as reading templates, is not a kernel's cost.
    make(kernels[0], where, assembler)
    seconds: dict[Point, float] = {}
    for kernel in kernels:
        times = []
        for _ in range(RUNS):
            start = time.perf_counter()
            make(kernel, where, assembler)
            times.append(time.perf_counter() - start)
        seconds[kernel] = statistics.median(times)
        on_done(kernel)
    out = [(MEDIAN, statistics.median(seconds.values()), counted(len(kernels), "kernel"))]
    for what, scheduled in ((WORST, False), (SCHEDULED, True)):
        chosen = [kernel for kernel in kernels if (kernel.schedule != WRITTEN) is scheduled]
        if chosen:
            slowest = max(chosen, key=lambda kernel: seconds[kernel])
            out.append((what, seconds[slowest], slowest.name))
    return out


def whole_catalogue(kernels: Sequence[Point]) -> Seconds:
    """Generate everything into a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="ghashgen-") as folder:
        start = time.perf_counter()
        generate(kernels, target(), Path(folder), whole=True)
        return CATALOGUE, time.perf_counter() - start, counted(len(kernels), "kernel")


def main_job(emulate: bool) -> Seconds:
    """Run the verbs of a plain `make`, each in a new process; do not touch generated/.

    Raises:
        GhashgenError: a verb fails.
    """
    with tempfile.TemporaryDirectory(prefix="ghashgen-") as folder:
        verbs = {
            "generate": ["generate", "--out", folder],
            "identities": ["prove", "--identities"],
            "validate": ["validate", "--json", *(["--emulate"] if emulate else [])],
        }
        seconds, answer = {}, ""
        for name, words in verbs.items():
            start = time.perf_counter()
            answer = _verb(words)
            seconds[name] = time.perf_counter() - start
    ran = [item["how"] for item in json.loads(answer)]
    emulated = sum(how != "native" for how in ran)
    parts = ", ".join(f"{name} {shown(each)}" for name, each in seconds.items())
    what = EMULATED if emulated else JOB
    return what, sum(seconds.values()), f"{parts}; {emulated} of {len(ran)} kernels emulated"


def _verb(words: Sequence[str]) -> str:
    command = [sys.executable, "-m", "ghashgen", *words]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        line = (result.stderr.strip().splitlines() or ["no message"])[-1]
        raise GhashgenError(f"ghashgen {' '.join(words)} fails: {line}", "run it by itself")
    return result.stdout


def every_proof(
    built: Sequence[Built[Point]], on_done: Callable[[Built[Point]], None] = lambda item: None
) -> Seconds:
    """Prove assembled kernels without cached verdicts or kept certificates.

    Raises:
        GhashgenError: a kernel is not proved.
    """
    with tempfile.TemporaryDirectory(prefix="ghashgen-") as folder:
        start = time.perf_counter()
        folders = Path(folder) / "proofs", Path(folder) / "certificates"
        verdicts = proofs.prove(built, *folders, on_done).verdicts
        seconds = time.perf_counter() - start
    failed = [verdict.kernel for verdict in verdicts if not verdict.proved]
    if failed:
        raise GhashgenError(f"{failed[0]} is not proved", "run ghashgen prove")
    slowest = max(verdicts, key=lambda verdict: verdict.seconds)
    longest = f"longest {slowest.kernel} {shown(slowest.seconds)}"
    return PROOFS, seconds, f"{counted(len(verdicts), 'kernel')}, {longest}"


class _File(Struct, frozen=True):
    figures: tuple[Figure, ...]


_FILE = Document(_File, "is no record of the tool's speed", "measure again, or delete it", SCHEMA)


def load(path: Path) -> dict[str, Figure]:
    """Return the figures of a record by name; none without a record.

    Raises:
        GhashgenError: it is malformed.
    """
    if not path.exists():
        return {}
    figures = _FILE.read(path).figures
    if unknown := [figure.what for figure in figures if figure.what not in TARGETS]:
        raise _FILE.refuse(path, f"no figure {unknown[0]!r}")
    return {figure.what: figure for figure in figures}


def store(figures: Mapping[str, Figure], cpu: str, path: Path) -> None:
    """Write a record; figures that were not measured this time are kept.

    Raises:
        GhashgenError: the existing record is malformed, or it cannot be written.
    """
    known = load(path) | dict(figures)
    body = {
        "schema": SCHEMA,
        "cpu": cpu,
        "method": f"wall time on at most {CORES} cores; a kernel: median of {RUNS} runs",
        "figures": [
            asdict(known[what]) | {"seconds": float(f"{known[what].seconds:.3g}")}
            for what in TARGETS
            if what in known
        ],
    }
    unfinished = path.with_suffix(f".{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise GhashgenError(f"{path}: {error.strerror}") from None
