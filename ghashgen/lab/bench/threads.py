"""Measures messages in threads: one thread, threads started in each call, a pool's threads.

The program in harness/threads uses the thread pool as emitted for the measured kernels.
"""

import json
import subprocess
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ghashgen.arch.objects import read_object
from ghashgen.lab.bench.contest import Contest
from ghashgen.lab.bench.families.hash import CONTEST as HASH
from ghashgen.lab.bench.run import Effort
from ghashgen.output.artefact import sha256
from ghashgen.output.threads import group_of, rendered
from ghashgen.records.core import Cell, Machine, Results, Run, Subject, summarise
from ghashgen.records.machine import cpu_model, git_commit
from ghashgen.run.machine import machine_for
from ghashgen.run.table import PORTABLE_KERNELS, HarnessKernel, check_linkable, write_table
from ghashgen.support.errors import GhashgenError
from ghashgen.support.paths import cache_folder, project_root
from ghashgen.support.programs import program

MODE = "threads"
"""The mode's name in records."""

THREADED = replace(HASH, default_modes=(MODE,), other_modes=())
"""The measurement of GHASH and AES-GCM in threads."""

_SHARED = ("cpu.c", "json.c", "kernel.c", "kernel_win64.c", "reference.c")
_LIBRARY = "ghashgen"
_WRONG = 1
_SECONDS = 1800


def build(kernels: Sequence[HarnessKernel], out_dir: Path) -> Path:
    """Compile the program into ``out_dir`` and link it with ``kernels``.

    Raises:
        GhashgenError: a kernel cannot be linked or called, or there is no compiler.
    """
    machine = machine_for()
    check_linkable(kernels, machine)
    folder = project_root() / "harness"
    group = group_of(kernel.blocks for kernel in kernels) if kernels else 1
    headers = {**machine.headers, **rendered(_LIBRARY, group, dispatched=False, gcm=True)}
    sources = [
        *(folder / MODE / name for name in ("main.c", "subjects.c", "ways.c")),
        *(folder / "bench" / name for name in ("clock.c", "gcm_judge.c")),
        *(folder / name for name in _SHARED),
        folder / machine.name / "cpu.c",
        *sorted(folder.glob("reference_*.c")),
        write_table(kernels, out_dir),
    ]
    objects = [kernel.obj for kernel in kernels]
    return program(machine.cc, MODE, sources, objects, out_dir, made_headers=headers)


def bench_threads(
    kernels: Sequence[HarnessKernel],
    peers: Sequence[str] | None,
    sizes: Sequence[int],
    modes: Sequence[str] | None,
    runs: int,
    on_done: Callable[[Cell], None] = lambda cell: None,
    *,
    effort: Effort,
    out_dir: Path | None = None,
    contest: Contest = THREADED,
    only: Collection[str] = (),
) -> Results:
    """Measure what ``only`` names as ``KERNEL WAY THREADS``, in a process for each of ``runs``.

    The arguments are those of `lab.bench.bench`; there are no peers, and one mode. Results are wall
    time per call, in cycles of a busy core.

    Raises:
        GhashgenError: a result is wrong, or the program cannot be built or run.
    """
    out_dir = out_dir or cache_folder() / "bench"
    path = build(kernels, out_dir)
    lines = [f"variant {name}" for name in only]
    lines += [f"{name} {getattr(effort, name)}" for name in ("samples", "cycles", "budget")]
    lines += [f"size {size}" for size in sorted(set(sizes))]
    cells: dict[tuple[str, int], list[Run]] = {}
    missing: dict[str, str] = {}
    features: tuple[str, ...] = ()
    ghz = 0.0
    for _ in range(runs):
        for event in _events(path, "\n".join(lines) + "\n"):
            match event["event"]:
                case "start":
                    features, ghz = tuple(event["features"]), event["ghz"]
                case "missing":
                    missing[event["name"]] = "this CPU lacks " + " ".join(event["features"])
                case "wrong":
                    raise GhashgenError(
                        f"{event['name']} gives a wrong result for {event['size']} bytes: "
                        "nothing was measured",
                        "run ghashgen validate for this kernel",
                    )
                case "cell":
                    run = summarise(event["cycles"], event["dropped"])
                    found = () if run is None else (run,)
                    key = (event["name"], event["size"])
                    cells.setdefault(key, []).extend(found)
                    on_done(Cell(*key, MODE, found))
    machine = Machine(cpu_model(), features, ghz, git_commit())
    found_cells = tuple(Cell(*key, MODE, tuple(found)) for key, found in cells.items() if found)
    return Results(machine, _subjects(kernels, only), found_cells, missing)


def _subjects(kernels: Sequence[HarnessKernel], names: Collection[str]) -> dict[str, Subject]:
    codes = {k.name: sha256(read_object(k.obj.read_bytes()).code) for k in kernels}
    tables = {kernel.name: kernel.table_bytes for kernel in kernels}
    found = {}
    for name in names:
        base = name.split()[0]
        kind = "portable" if base in PORTABLE_KERNELS else "kernel"
        found[name] = Subject(name, kind, tables.get(base, 0), codes.get(base, ""))
    return found


def _events(path: Path, plan: str) -> list[dict[str, Any]]:
    try:
        answer = subprocess.run(
            [path], input=plan, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise GhashgenError(
            f"{path.name} did not finish in {_SECONDS} s", "choose fewer --sizes"
        ) from None
    if answer.returncode not in (0, _WRONG):
        raise GhashgenError(
            f"{path.name}: {answer.stderr.strip() or f'exit status {answer.returncode}'}",
            "measure again",
        )
    return [json.loads(line) for line in answer.stdout.splitlines()]
