"""Measures messages in threads: one thread, threads started in each call, a pool's threads.

The program in harness/threads uses the thread pool as emitted for the measured kernels.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path

from ghashgen.lab.bench.contest import Contest
from ghashgen.lab.bench.families.hash import CONTEST as HASH
from ghashgen.lab.bench.run import Effort, Gathered, codes_of
from ghashgen.output.threads import group_of, rendered
from ghashgen.records.core import Cell, Results, Subject
from ghashgen.run.machine import machine_for
from ghashgen.run.table import PORTABLE_KERNELS, HarnessKernel, check_linkable, write_table
from ghashgen.support.paths import cache_folder, project_root
from ghashgen.support.programs import program

MODE = "threads"
"""The mode's name in records."""

THREADED = replace(HASH, default_modes=(MODE,), other_modes=())
"""The measurement of GHASH and AES-GCM in threads."""

_SHARED = ("cpu.c", "json.c", "kernel.c", "kernel_win64.c", "reference.c")
_LIBRARY = "ghashgen"


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
    gathered = Gathered("result", on_done, {})
    for _ in range(runs):
        gathered.run(path, "\n".join(lines) + "\n")
    return gathered.results(_subjects(kernels, only))


def _subjects(kernels: Sequence[HarnessKernel], names: Collection[str]) -> dict[str, Subject]:
    codes = codes_of(kernels)
    tables = {kernel.name: kernel.table_bytes for kernel in kernels}
    found = {}
    for name in names:
        base = name.split()[0]
        kind = "portable" if base in PORTABLE_KERNELS else "kernel"
        found[name] = Subject(name, kind, tables.get(base, 0), codes.get(base, ""))
    return found
