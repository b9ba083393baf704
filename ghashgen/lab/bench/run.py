"""Runs the benchmark program and gathers its results."""

import json
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ghashgen.arch.objects import read_object
from ghashgen.lab.bench.build import Program, build
from ghashgen.lab.bench.interface import INTERFACES, absent_interfaces, measure_interfaces
from ghashgen.lab.bench.objects import PeerObject
from ghashgen.lab.bench.peers import PEERS
from ghashgen.output.artefact import sha256
from ghashgen.records.core import (
    DEFAULT_MODES,
    INIT_MODES,
    MODES,
    SIZES,
    Cell,
    Machine,
    Results,
    Run,
    Subject,
    size_name,
    summarise,
)
from ghashgen.records.machine import cpu_model, git_commit
from ghashgen.run.harness import PORTABLE_KERNELS, HarnessKernel
from ghashgen.support.errors import GhashgenError
from ghashgen.support.paths import cache_folder
from ghashgen.support.wording import choose_one, counted

PORTABLE = "portable"
PEER_CHOICES = (*PEERS, PORTABLE, *INTERFACES)
"""What a kernel can be compared with."""

_WRONG = 1


@dataclass(frozen=True)
class Effort:
    """How much is measured; a sample is long enough to hide the cost of reading the counter."""

    samples: int = 51
    cycles: int = 20_000
    """Core cycles that a sample takes at least, if one call takes less."""
    budget: int = 100_000_000
    """Core cycles after which a cell has enough, whatever its number of samples."""
    nops: float = 0.9
    """Part of the nops per cycle that the core retires when it is not shared; a sample beside which
    it retired fewer met a neighbour and is dropped. 0 drops none."""
    patience: float = 10.0
    """Seconds to wait, for each size and mode, for moments in which the core is not shared; when
    they are spent the size ends with what it has. 0 never waits."""
    core: int = -1
    """Core to stay on; -1 for the last one allowed."""
    offset: int = 0
    """Offset of the data from a page boundary, in bytes."""


QUICK = Effort(samples=11, budget=20_000_000, patience=1.5)
"""For a first look: seconds for a whole catalogue; differences below 5% mean nothing."""


@dataclass
class _Gathered:
    """What the runs have said so far."""

    cells: dict[tuple[str, int, str], list[Run]] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    features: tuple[str, ...] = ()
    ghz: float = 0.0
    core: int = -1
    checking: str = ""


def bench(
    kernels: Sequence[HarnessKernel],
    peers: Sequence[str] = PEER_CHOICES,
    sizes: Sequence[int] = SIZES,
    modes: Sequence[str] = DEFAULT_MODES,
    runs: int = 3,
    on_done: Callable[[Cell], None] = lambda cell: None,
    *,
    effort: Effort = Effort(),
    out_dir: Path | None = None,
    given: Sequence[PeerObject] = (),
) -> Results:
    """Measure kernels and peers in one process a run, in turns, after a check of their results.

    ``given`` are peers from files. Sizes are in bytes, results in core cycles per call. ``on_done``
    is called for each cell of each run, without statistics where too few samples were undisturbed.
    What this CPU cannot run, and peers not installed, stand in ``Results.missing``.

    Raises:
        GhashgenError: a subject gives a wrong GHASH or faults (it is named), a choice is unknown,
            or the program cannot be built.
    """
    _refuse_unknown(peers, sizes, modes, runs)
    out_dir = out_dir or cache_folder() / "bench"
    program = build(kernels, [name for name in peers if name in PEERS], out_dir, given)
    subjects = _subjects(program, kernels, PORTABLE in peers)
    interfaces = [name for name in peers if name in INTERFACES]
    gathered = _Gathered(missing={**program.absent, **absent_interfaces(interfaces)})
    plan = _plan(subjects, sizes, modes, effort)
    for _ in range(runs):
        for event in _events(program.path, plan, gathered):
            _take(event, gathered, on_done)
        for name, size, run in measure_interfaces(
            [name for name in interfaces if name not in gathered.missing],
            sizes,
            modes,
            gathered.ghz,
            gathered.core,
        ):
            subjects.setdefault(name, Subject(name, "interface"))
            key = (name, size, "throughput")
            gathered.cells.setdefault(key, []).append(run)
            on_done(Cell(name, size, "throughput", (run,)))
    machine = Machine(cpu_model(), gathered.features, gathered.ghz, git_commit())
    cells = tuple(Cell(*key, tuple(found)) for key, found in gathered.cells.items() if found)
    return Results(machine, subjects, cells, {**gathered.missing, **_disturbed(gathered)})


def _disturbed(gathered: _Gathered) -> dict[str, str]:
    """Say how many subjects of a size have no figure because the core was never quiet."""
    lost = Counter(
        f"{mode} {size_name(size)}"
        for (_, size, mode), found in gathered.cells.items()
        if not found
    )
    return {
        row: f"too few undisturbed samples of {counted(count, 'subject')}"
        for row, count in lost.items()
    }


def _refuse_unknown(
    peers: Sequence[str], sizes: Sequence[int], modes: Sequence[str], runs: int
) -> None:
    for what, chosen, known in (("peer", peers, PEER_CHOICES), ("mode", modes, MODES)):
        for name in chosen:
            if name not in known:
                raise GhashgenError(f"no {what} is named {name!r}", choose_one(name, known))
    if not sizes or any(not 1 <= size <= 1 << 28 for size in sizes):
        raise GhashgenError("sizes must be 1 byte to 256 MiB", "choose --sizes in that range")
    if runs < 1 or not modes:
        raise GhashgenError("nothing to measure", "choose at least one run and one mode")


def _subjects(
    program: Program, kernels: Sequence[HarnessKernel], portable: bool
) -> dict[str, Subject]:
    """Ask the program what it holds; the order is that of the turns."""
    codes = {k.name: sha256(read_object(k.obj.read_bytes()).code) for k in kernels}
    listed = subprocess.run(
        [str(program.path), "list"], capture_output=True, text=True, timeout=60, check=False
    )
    if listed.returncode != 0:
        raise GhashgenError(f"{program.path.name} list fails: {listed.stderr.strip()}")
    rows = [json.loads(line) for line in listed.stdout.splitlines()]
    return {
        row["name"]: Subject(
            row["name"],
            row["kind"],
            row["table_bytes"],
            codes.get(row["name"], ""),
            tuple(row["needs"]),
        )
        for row in rows
        if portable or row["name"] not in PORTABLE_KERNELS
    }


def _plan(
    subjects: Mapping[str, Subject], sizes: Sequence[int], modes: Sequence[str], effort: Effort
) -> str:
    """Return what the program reads; see ``harness/bench/plan.h``."""
    lines = [f"subject {name}" for name in subjects]
    lines += [f"size {size}" for size in sorted(set(sizes))]
    lines += [f"mode {mode}" for mode in modes]
    lines += [f"{name} {value}" for name, value in vars(effort).items()]
    return "\n".join(lines) + "\n"


def cells_in_plan(subjects: int, sizes: Sequence[int], modes: Sequence[str], runs: int) -> int:
    """Return how often ``on_done`` will be called, interfaces and missing features aside."""
    rows = sum(1 if mode in INIT_MODES else len(set(sizes)) for mode in modes)
    return subjects * rows * runs


def _events(path: Path, plan: str, gathered: _Gathered) -> Iterator[dict[str, Any]]:
    with subprocess.Popen(
        [str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        if process.stdin is None or process.stdout is None or process.stderr is None:
            raise AssertionError("pipes were asked for")
        try:
            process.stdin.write(plan)
            process.stdin.close()
            for line in process.stdout:
                yield json.loads(line)
        except BaseException:
            process.kill()
            raise
        errors = process.stderr.read().strip()
    if process.returncode < 0:
        name = signal.Signals(-process.returncode).name
        raise GhashgenError(
            f"benchmark ended by {name} in {gathered.checking or 'its own code'}",
            "run ghashgen validate for this kernel",
        )
    if process.returncode not in (0, _WRONG):
        raise GhashgenError(errors or f"benchmark: exit status {process.returncode}")


def _take(event: dict[str, Any], gathered: _Gathered, on_done: Callable[[Cell], None]) -> None:
    """Add one line of the program's output."""
    match event["event"]:
        case "start":
            gathered.features = tuple(event["features"])
            gathered.ghz, gathered.core = event["ghz"], event["core"]
        case "missing":
            gathered.missing[event["name"]] = "this CPU lacks " + " ".join(event["features"])
        case "checking":
            gathered.checking = event["name"]
        case "wrong":
            raise GhashgenError(
                f"{event['name']} gives a wrong GHASH of {event['size']} bytes: nothing measured",
                "run ghashgen validate for this kernel",
            )
        case "cell":
            name, size, mode = event["name"], event["size"], event["mode"]
            run = summarise(event["cycles"], event["dropped"])
            found = gathered.cells.setdefault((name, size, mode), [])
            found += [] if run is None else [run]
            on_done(Cell(name, size, mode, () if run is None else (run,)))
