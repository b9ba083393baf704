"""ghashgen bench: measure kernels and other implementations in turns, in one process."""

from collections.abc import Sequence, Set
from dataclasses import replace
from pathlib import Path

import click

from ghashgen.cli.verbs.options import (
    build_folder,
    choice_options,
    chosen_kernels,
    core_option,
    default_out,
    json_option,
    one_of,
    print_json,
    progress,
    sizes_option,
)
from ghashgen.kernels.core import Point
from ghashgen.kernels.families import axes_of
from ghashgen.kernels.selection import Choice
from ghashgen.kernels.target import target
from ghashgen.lab.bench import QUICK, QUICK_SIZES, SIZES, Contest, Effort, bench, contests
from ghashgen.lab.bench.export import as_csv, as_plain
from ghashgen.lab.bench.limits import refuse_architecture
from ghashgen.lab.bench.objects import load_objects
from ghashgen.lab.bench.peers import INSTALL
from ghashgen.lab.bench.run import cells_in_plan, refuse_impossible
from ghashgen.lab.bench.table import best_table, full_table, init_table
from ghashgen.lab.edges import edge_table
from ghashgen.lab.store import open_store
from ghashgen.lab.tune.measure import describe
from ghashgen.output.folder import require_writable
from ghashgen.records.core import EDGES, INIT_MODES, Cell, Results, Subject, beside, sizes_of
from ghashgen.records.machine import cpu_slug
from ghashgen.records.records import FOLDER, require_kept, write_record
from ghashgen.run.built import build
from ghashgen.support.paths import project_root, require_clone
from ghashgen.support.tables import say, show
from ghashgen.support.wording import counted

_FULL_UP_TO = 24
"""Largest number of subjects for which every cell is shown unasked."""


def _each(what: str) -> str:
    """Return the modes or rivals of every family, in words."""
    return "; ".join(f"{name}: {', '.join(getattr(c, what))}" for name, c in contests().items())


def _every(what: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for c in contests().values() for name in getattr(c, what)))


@click.command("bench")
@choice_options
@click.option(
    "--peer",
    multiple=True,
    help=f"Compare with: {_each('rivals')} (default: all).",
    shell_complete=one_of(lambda: _every("rivals")),
)
@click.option(
    "--objects",
    type=click.Path(path_type=Path),
    help="TOML file of peers in object files or static libraries; see docs/bench.md.",
)
@sizes_option
@click.option(
    "--mode",
    multiple=True,
    help=f"Measure: {_each('modes')} (default: all but {', '.join(_every('other_modes'))}).",
    shell_complete=one_of(lambda: _every("modes")),
)
@click.option("--runs", type=click.IntRange(1), help="Number of processes, run one after another.")
@core_option
@click.option("--quick", is_flag=True, help="Take a first look: few sizes and samples, one run.")
@click.option(
    "--every", is_flag=True, help="Show every figure, however many kernels and peers there are."
)
@click.option("--csv", "csv_out", is_flag=True, help="Print CSV instead of a table.")
@click.option("--store", type=click.Path(path_type=Path), help="SQLite file to add the results to.")
@click.option("--record", is_flag=True, help="Write this CPU's record, docs/bench/CPU.json.")
@click.option(
    "--note", default="", help="A note for readers of the record, such as how peers were built."
)
@json_option
def COMMAND(
    choice: Choice,
    peer: tuple[str, ...],
    objects: Path | None,
    sizes: tuple[int, ...],
    mode: tuple[str, ...],
    runs: int | None,
    core: int,
    quick: bool,
    every: bool,
    csv_out: bool,
    store: Path | None,
    record: bool,
    note: str,
    as_json: bool,
) -> None:
    """Measure kernels of one family, after a check that all give the same result."""
    contest, kernels = _entered(choice)
    refuse_architecture(kernels)
    peers = peer or contest.rivals
    given = load_objects(objects) if objects else ()
    sizes = sizes or (QUICK_SIZES if quick else SIZES)
    modes = mode or contest.default_modes
    runs = runs or (1 if quick else 3)
    effort = replace(QUICK if quick else Effort(), core=core)
    refuse_impossible(contest, peers, sizes, modes, runs, core)
    path = store or build_folder("bench.sqlite")
    with open_store(path) as opened:
        opened.require_writable()
    if record:
        _require_recordable(contest, {kernel.name for kernel in kernels}, sizes, modes)
    with progress("assemble", len(kernels)) as advance:
        built = build(kernels, target(), default_out(), build_folder("obj"), advance)
    # Each peer brings a few subjects; the bar need not be exact.
    cells = cells_in_plan(len(built) + 2 * len(peers) + len(given), sizes, modes, runs)
    with progress("measure", cells) as advance:
        results = bench(
            [item.harness_kernel for item in built],
            peers,
            sizes,
            modes,
            runs,
            advance,
            effort=effort,
            out_dir=build_folder("bench"),
            given=given,
            contest=contest,
        )
    with open_store(path) as opened:
        session = opened.add(results)
    if record:
        slug = cpu_slug(results.machine.features)
        written = write_record(results, slug, project_root() / contest.folder, note)
        click.echo(f"recorded in {written}", err=True)
    if as_json:
        print_json(as_plain(results))
    elif csv_out:
        click.echo(as_csv(results), nl=False)
    else:
        _print(results, contest, modes, every)
        say(f"stored as number {session} in {path}")


def _require_recordable(
    contest: Contest, names: Set[str], sizes: Sequence[int], modes: Sequence[str]
) -> None:
    """Refuse now a record that would be refused after the measurement."""
    require_clone(FOLDER)
    folder = project_root() / contest.folder
    require_writable(folder, "clone")

    def has(cell: Cell, subject: Subject) -> bool:
        measured = cell.mode in modes and cell.size in sizes_of(cell.mode, sizes)
        return measured and (subject.kind != "kernel" or subject.name in names)

    require_kept(folder / f"{cpu_slug(describe().features)}.json", has)


def _entered(choice: Choice) -> tuple[Contest, tuple[Point, ...]]:
    """Return the kernels to measure and their contest.

    If the choice fits several families, the first is taken.
    """
    found = chosen_kernels(choice, "contest").kernels
    # POLYVAL is another function, and all subjects here must agree on one result.
    kernels = tuple(kernel for kernel in found if axes_of(kernel).get("op", "ghash") == "ghash")
    if choice != Choice() and len(kernels) < len(found):
        other = counted(len(found) - len(kernels), "kernel")
        click.echo(f"left out: {other} of op polyval: bench measures GHASH", err=True)
    families = {kernel.family for kernel in kernels}
    entered = next((name for name in contests() if name in families), next(iter(contests())))
    return contests()[entered], tuple(k for k in kernels if k.family == entered)


def _print(results: Results, contest: Contest, modes: tuple[str, ...], every: bool) -> None:
    machine = results.machine
    say(f"{machine.cpu}, {machine.clock_ghz:.2f} GHz; sources {machine.git or 'unknown'}")
    tables = []
    edges = [mode for mode in modes if mode in beside(EDGES)]
    for mode in [mode for mode in modes if mode not in INIT_MODES]:
        for key in results.keys:
            if mode not in edges:
                tables.append(best_table(results, mode, key))
            if every or len(results.subjects) <= _FULL_UP_TO:
                tables.append(full_table(results, mode, key))
    if edges:
        tables += [edge_table(results, key) for key in results.keys]
    show(*tables, init_table(results))
    for name, why in sorted(results.missing.items()):
        say(f"not measured: {name}: {why}")
    if any(name in results.missing for name in contest.peers):
        say(f"all peers: {INSTALL}")
