"""Runs the benchmark program and gathers its results."""

import json
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ghashgen.arch.objects import read_object
from ghashgen.lab.bench.build import Program, build
from ghashgen.lab.bench.contest import PORTABLE, Contest
from ghashgen.lab.bench.families.hash import CONTEST as HASH
from ghashgen.lab.bench.interface import absent_interfaces, measure_interfaces
from ghashgen.lab.bench.limits import refuse_core, refuse_sizes, unmeasured
from ghashgen.lab.bench.objects import WAYS, PeerObject
from ghashgen.output.artefact import sha256
from ghashgen.records.core import (
    SIZES,
    Cell,
    Machine,
    Results,
    Run,
    Subject,
    size_name,
    sizes_of,
    summarise,
)
from ghashgen.records.machine import cpu_model, git_commit
from ghashgen.run.table import HarnessKernel
from ghashgen.support.errors import GhashgenError
from ghashgen.support.paths import cache_folder
from ghashgen.support.wording import choose_one, counted

_WRONG = 1


@dataclass(frozen=True)
class Effort:
    """How much to measure; a sample is long enough to hide the cost of reading the counter."""

    samples: int = 51
    cycles: int = 20_000
    """Minimum core cycles of a sample, reached by repeating short calls."""
    budget: int = 100_000_000
    """Core cycles after which a cell is complete, whatever its number of samples."""
    nops: float = 0.9
    """The fraction of its full nops per cycle that the core must retire beside a sample. With
    fewer, another thread used the core and the sample is dropped; so are samples with a context
    switch or a clock change. 0 drops none.
    """
    patience: float = 10.0
    """Seconds to wait, for each size and mode, for moments in which the core is not shared. After
    that the size ends with the samples that it has. 0 never waits.
    """
    core: int = -1
    """CPU core to run on; -1 for the last one allowed."""
    offset: int = 0
    """Offset of the data from a page boundary, in bytes."""
    aad: int = 12
    """Bytes of AAD before a message of AES-GCM, 0 to 256."""


QUICK = Effort(samples=11, budget=20_000_000, patience=1.5)
"""For a first look: seconds for a whole catalogue; differences below 5% mean nothing."""


@dataclass
class Gathered:
    """The results of a program's runs so far."""

    result: str
    """What all subjects must agree on."""
    on_done: Callable[[Cell], None]
    missing: dict[str, str]
    cells: dict[tuple[str, int, str], list[Run]] = field(default_factory=dict)
    features: tuple[str, ...] = ()
    ghz: float = 0.0
    core: int = -1
    _checking: str = ""

    def run(self, path: Path, plan: str) -> None:
        """Run a program with a plan; `on_done` is called for each cell.

        Raises:
            GhashgenError: a subject gives a wrong result or faults, or the program fails.
        """
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
                    self._take(json.loads(line))
            except BaseException:
                process.kill()
                raise
            errors = process.stderr.read().strip()
        if process.returncode < 0:
            name = signal.Signals(-process.returncode).name
            raise GhashgenError(
                f"the benchmark was ended by {name} in {self._checking or 'its own code'}",
                "run ghashgen validate for this kernel",
            )
        if process.returncode not in (0, _WRONG):
            raise GhashgenError(errors or f"benchmark: exit status {process.returncode}")

    def _take(self, event: dict[str, Any]) -> None:
        """Process one line of the program's output."""
        match event["event"]:
            case "start":
                self.features = tuple(event["features"])
                self.ghz, self.core = event["ghz"], event["core"]
            case "missing":
                self.missing[event["name"]] = "this CPU lacks " + " ".join(event["features"])
            case "checking":
                self._checking = event["name"]
            case "wrong":
                raise GhashgenError(
                    f"{event['name']} gives a wrong {self.result} for {event['size']} bytes: "
                    "nothing was measured",
                    "run ghashgen validate for this kernel",
                )
            case "cell":
                key = (event["name"], event["size"], event["mode"])
                self.add(key, summarise(event["cycles"], event["dropped"]))

    def add(self, key: tuple[str, int, str], run: Run | None) -> None:
        """Add a cell of a run; without statistics if too few samples were undisturbed."""
        found = () if run is None else (run,)
        self.cells.setdefault(key, []).extend(found)
        self.on_done(Cell(*key, found))

    def results(self, subjects: Mapping[str, Subject]) -> Results:
        """Return the results."""
        machine = Machine(cpu_model(), self.features, self.ghz, git_commit())
        cells = tuple(Cell(*key, tuple(found)) for key, found in self.cells.items() if found)
        return Results(machine, subjects, cells, {**self.missing, **self._disturbed()})

    def _disturbed(self) -> dict[str, str]:
        """Return how many subjects of each size have no figure because the core was never
        quiet.
        """
        lost = Counter(
            f"{mode} {size_name(size, mode)}"
            for (_, size, mode), found in self.cells.items()
            if not found
        )
        return {
            row: f"too few undisturbed samples of {counted(count, 'subject')}"
            for row, count in lost.items()
        }


def bench(
    kernels: Sequence[HarnessKernel],
    peers: Sequence[str] | None = None,
    sizes: Sequence[int] = SIZES,
    modes: Sequence[str] | None = None,
    runs: int = 3,
    on_done: Callable[[Cell], None] = lambda cell: None,
    *,
    effort: Effort = Effort(),
    out_dir: Path | None = None,
    given: Sequence[PeerObject] = (),
    contest: Contest = HASH,
    only: Collection[str] = (),
) -> Results:
    """Measure kernels and peers in turns, one process for each run, after checking their results.

    All kernels are of the family of ``contest``, whose rivals and default modes are the default.
    ``given`` are peers from files; those of other families are skipped. ``only`` limits the
    measurement to these names. Sizes are in bytes, results in core cycles per call. ``on_done`` is
    called for each cell of each run, without statistics if too few samples were undisturbed.
    ``Results.missing`` lists what this CPU cannot run and peers that are not installed.

    Raises:
        GhashgenError: a subject gives a wrong result or faults (it is named), a choice is unknown,
            or the program cannot be built.
    """
    peers = contest.rivals if peers is None else peers
    modes = contest.default_modes if modes is None else modes
    refuse_impossible(contest, peers, sizes, modes, runs, effort.core)
    out_dir = out_dir or cache_folder() / "bench"
    libraries = [name for name in peers if name in contest.peers]
    given = [peer for peer in given if WAYS[peer.way].family == contest.family]
    program = build(kernels, libraries, out_dir, given, contest.peers)
    subjects = _subjects(program, kernels, PORTABLE in peers, contest, keys_of(kernels))
    if only:
        subjects = {name: subject for name, subject in subjects.items() if name in only}
    interfaces = {
        name: interface
        for name, interface in contest.interfaces.items()
        if name in peers and interface.key in (keys_of(kernels) or (interface.key,))
    }
    absent = {**program.absent, **absent_interfaces(interfaces), **unmeasured(modes, sizes)}
    gathered = Gathered(contest.result, on_done, absent)
    plan = _plan(subjects, sizes, modes, effort)
    for _ in range(runs):
        gathered.run(program.path, plan)
        for name, size, run in measure_interfaces(
            {name: each for name, each in interfaces.items() if name not in gathered.missing},
            sizes,
            modes,
            gathered.ghz,
            gathered.core,
        ):
            subjects.setdefault(name, Subject(name, "interface", key=interfaces[name].key))
            gathered.add((name, size, interfaces[name].mode), run)
    for name in subjects.keys() - {name for name, _, _ in gathered.cells}:
        gathered.missing.setdefault(name, f"it has no function for mode {' or '.join(modes)}")
    return gathered.results(subjects)


def keys_of(kernels: Sequence[HarnessKernel]) -> tuple[int, ...]:
    """Return the key sizes of these kernels; none for GHASH, or without a kernel."""
    return tuple(sorted({kernel.key_bits for kernel in kernels if kernel.key_bits}))


def refuse_impossible(
    contest: Contest,
    peers: Sequence[str],
    sizes: Sequence[int],
    modes: Sequence[str],
    runs: int,
    core: int = -1,
) -> None:
    """Refuse impossible requests to `bench` before anything is built.

    Raises:
        GhashgenError: a peer or a mode is unknown, a size or the core does not exist, or there is
            nothing to measure.
    """
    for what, chosen, known in (("peer", peers, contest.rivals), ("mode", modes, contest.modes)):
        for name in chosen:
            if name not in known:
                raise GhashgenError(f"no {what} is named {name!r}", choose_one(name, known))
    refuse_sizes(sizes)
    if runs < 1 or not modes or not sizes:
        raise GhashgenError("nothing to measure", "choose at least one run, one size and one mode")
    unmeasured(modes, sizes)
    refuse_core(core)


def codes_of(kernels: Sequence[HarnessKernel]) -> dict[str, str]:
    """Return the SHA-256 of each kernel's code, by name."""
    return {k.name: sha256(read_object(k.obj.read_bytes()).code) for k in kernels}


def _subjects(
    program: Program,
    kernels: Sequence[HarnessKernel],
    portable: bool,
    contest: Contest,
    keys: Sequence[int],
) -> dict[str, Subject]:
    """Ask the program for its subjects of a contest, in the order of turns.

    With a cipher, only subjects with one of these key sizes; without any, all.
    """
    codes = codes_of(kernels)
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
            row["key"],
        )
        for row in rows
        if row["family"] == contest.family
        and (portable or row["kind"] != PORTABLE)
        and row["key"] in (keys or (row["key"],))
    }


def _plan(
    subjects: Mapping[str, Subject], sizes: Sequence[int], modes: Sequence[str], effort: Effort
) -> str:
    """Return the program's input; see ``harness/bench/plan.h``."""
    lines = [f"subject {name}" for name in subjects]
    lines += [f"size {size}" for size in sorted(set(sizes))]
    lines += [f"mode {mode}" for mode in dict.fromkeys(modes)]
    lines += [f"{name} {value}" for name, value in vars(effort).items()]
    return "\n".join(lines) + "\n"


def cells_in_plan(subjects: int, sizes: Sequence[int], modes: Sequence[str], runs: int) -> int:
    """Return how often ``on_done`` will be called, ignoring interfaces and missing features."""
    rows = sum(len(sizes_of(mode, sizes)) for mode in modes)
    return subjects * rows * runs
