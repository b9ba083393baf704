"""Measures a batch of units on this machine, one batch at a time.

A lab's worker runs the same functions as the command line. So they take and return plain values and
need only the project's files, a C compiler and this CPU.
"""

import fcntl
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path

from ghashgen.lab.bench.contest import contests
from ghashgen.lab.bench.run import QUICK, Effort, bench
from ghashgen.lab.tune.space import Unit
from ghashgen.output.artefact import sha256
from ghashgen.records.core import Results
from ghashgen.records.machine import cpu_model
from ghashgen.run.harness import build as build_harness
from ghashgen.run.table import HarnessKernel
from ghashgen.support.errors import GhashgenError
from ghashgen.support.files import make_folder
from ghashgen.support.paths import cache_folder, project_root
from ghashgen.support.sealed import seal_of


@dataclass(frozen=True)
class Host:
    """A kind of machine; figures from the same kind are comparable."""

    cpu: str
    """Model name, family, model, stepping."""
    features: tuple[str, ...]
    """CPU features that kernels may need, sorted."""
    method: str
    """Hash of the measuring program; figures of different programs are kept apart."""

    def runs(self, unit: Unit) -> bool:
        """Return whether this kind of machine has the features that the kernel needs."""
        return set(unit.needs) <= set(self.features)


@dataclass(frozen=True)
class Stage:
    """How thoroughly to measure."""

    name: str
    effort: Effort
    runs: int
    peers: bool

    @property
    def key(self) -> str:
        """The name of the stage with its effort; another effort is another stage."""
        effort = {**asdict(self.effort), "core": -1}
        return f"{self.name}-{sha256(repr((effort, self.runs)).encode())[:8]}"


COARSE = Stage("coarse", Effort(samples=9, budget=4_000_000, patience=2.0), 1, False)
"""Every candidate once, to drop those that are a tenth slower."""

FINE = Stage("fine", Effort(samples=41, budget=40_000_000, patience=6.0), 3, True)
"""The best of the coarse stage again, in turns with each other and with the peers."""

FIRST_LOOK = Stage("quick", QUICK, 1, True)
"""Replaces the fine stage with `--quick`: the effort of `bench --quick`."""


@dataclass(frozen=True)
class Batch:
    """Units of one family that are measured in turns in one process."""

    stage: Stage
    units: tuple[Unit, ...]
    sizes: tuple[int, ...]
    modes: tuple[str, ...]


Measure = Callable[[Batch], Results]


def folder() -> Path:
    """Return the folder where the measuring program is built."""
    return cache_folder() / "tune"


@cache
def method() -> str:
    """Return a hash of the measuring program's sources."""
    harness = project_root() / "harness"
    files = [*sorted((harness / "bench").glob("*.[ch]")), *sorted(harness.glob("reference*.[ch]"))]
    return sha256(b"\0".join(path.read_bytes() for path in files))[:16]


def describe() -> Host:
    """Return the kind of this machine.

    Raises:
        GhashgenError: there is no C compiler to build the detecting program.
    """
    # In a separate folder, which no measurement cleans up meanwhile.
    present = build_harness([], folder() / "harness").features()
    features = sorted(name for name, there in present.items() if there)
    return Host(cpu_model(), tuple(features), method())


@contextmanager
def alone() -> Iterator[None]:
    """Reserve this machine: any other process that wants to measure waits for its turn.

    The lock ends with the process that holds it.
    """
    path = Path(tempfile.gettempdir()) / f"ghashgen-measure-{os.getuid()}.lock"
    with path.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def measure(batch: Batch, core: int = -1) -> Results:
    """Measure a batch here, after checking that its kernels agree on the result.

    Raises:
        GhashgenError: a kernel gives a wrong result or faults, or the program cannot be built.
    """
    host = describe()
    refused = [unit.name for unit in batch.units if not host.runs(unit)]
    if refused:
        raise GhashgenError(
            f"{refused[0]} cannot run on {host.cpu}", "measure it on another machine"
        )
    contest = contests()[batch.units[0].kernel.family]
    place = make_folder(folder())
    with alone(), tempfile.TemporaryDirectory(prefix="objects-", dir=place) as objects:
        try:
            results = bench(
                [_written(unit, Path(objects)) for unit in batch.units],
                tuple(contest.peers) if batch.stage.peers else (),
                batch.sizes,
                batch.modes,
                batch.stage.runs,
                effort=replace(batch.stage.effort, core=core),
                out_dir=place,
                contest=contest,
            )
        finally:
            _tidy(place)
    return replace(results, machine=replace(results.machine, cpu=host.cpu, features=host.features))


def _written(unit: Unit, objects: Path) -> HarnessKernel:
    obj = objects / f"{unit.name}.o"
    obj.write_bytes(unit.obj)
    return HarnessKernel.of_kernel(
        unit.kernel, obj, unit.needs, abi="sysv", table_align=unit.table_align
    )


def _tidy(place: Path) -> None:
    """Remove what belongs to one batch; shared files stay for the next."""
    programs = [path for path in place.glob("bench-*") if not path.suffix]
    for path in (*place.glob("*kernel_table-*"), *programs, *map(seal_of, programs)):
        path.unlink(missing_ok=True)
