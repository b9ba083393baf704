"""Measures a study with the benchmark: every variant in turns in one process, several processes.

Ratios are taken within a process, where baseline and variant had the same machine state; then the
median over processes is taken.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

from ghashgen.lab.bench import Cell, Effort, Results, Run
from ghashgen.lab.compare.core import Group, Study, Variant
from ghashgen.lab.compare.record import Figure, Record, Row
from ghashgen.run.table import HarnessKernel
from ghashgen.support.errors import GhashgenError

_DISTURBED = "too few undisturbed samples"

Runs = Sequence[Run | None]
"""A cell's statistics, by process."""


def measure(
    study: Study,
    kernels: Sequence[HarnessKernel],
    sizes: Sequence[int],
    processes: int,
    effort: Effort,
    out_dir: Path,
    on_done: Callable[[Cell], None] = lambda cell: None,
) -> Record:
    """Measure every variant of a study; `kernels` are those of `study.kernels`, assembled.

    Each process checks all results against slow, simple C before it measures.

    Raises:
        GhashgenError: a result is wrong (its kernel is named), sizes are out of range, the program
            cannot be built or run, the CPU cannot run anything of the study, or the core was never
            quiet.
    """
    if processes < 1:
        raise GhashgenError("nothing to measure", "choose at least one run")
    found = [
        study.bench(
            kernels,
            tuple(dict.fromkeys(study.others.values())),
            sizes,
            (study.mode,),
            1,
            on_done,
            effort=replace(effort, aad=study.aad),
            out_dir=out_dir,
            contest=study.contest,
            only=tuple(dict.fromkeys(variant.name for variant in study.variants)),
        )
        for _ in range(processes)
    ]
    if not any(results.cells for results in found):
        missing = found[0].missing
        lacks = [f"{v.name}: {why}" for v in study.variants if (why := _why(v, missing))]
        if len(lacks) == len(study.variants):
            raise GhashgenError(
                f"none of the {len(lacks)} variants compared can be measured here; {lacks[0]}",
                "use a machine that has it",
            )
        raise GhashgenError(
            "nothing was measured: other work disturbed the core all the time",
            "try again, or choose another --core",
        )
    return combine(study, found, effort.samples)


def combine(study: Study, found: Sequence[Results], samples: int) -> Record:
    """Return the record of some processes, each with the results of one run."""
    machine = found[-1].machine
    sizes = tuple(sorted({cell.size for results in found for cell in results.cells}))
    cells = [{(cell.name, cell.size): cell.runs[0] for cell in r.cells} for r in found]
    missing = found[-1].missing
    return Record(
        study=study.name,
        machine=machine.cpu,
        clock_ghz=round(machine.clock_ghz, 3),
        sources=machine.git,
        mode=study.mode,
        processes=len(found),
        samples=samples,
        sizes=sizes,
        rows=tuple(
            _row(group, variant, sizes, cells, missing, found[-1])
            for group in study.groups
            for variant in group.variants
        ),
    )


def _why(variant: Variant, missing: Mapping[str, str]) -> str | None:
    """Return why a variant was not measured, if known."""
    whose = variant.rival if isinstance(variant.subject, str) else variant.name
    return missing.get(variant.name) or missing.get(whose)


def _row(
    group: Group,
    variant: Variant,
    sizes: Sequence[int],
    cells: Sequence[Mapping[tuple[str, int], Run]],
    missing: Mapping[str, str],
    results: Results,
) -> Row:
    def runs(name: str, size: int) -> Runs:
        return [_usable(cells, name, size, i) for i in range(len(cells))]

    figures = [
        figure(size, runs(variant.name, size), runs(group.baseline.name, size)) for size in sizes
    ]
    some = tuple(found for found in figures if found is not None)
    subject = results.subjects.get(variant.name)
    return Row(
        group=group.title,
        label=variant.label,
        subject=variant.name,
        constant_time=variant.constant_time,
        digest=subject.digest if subject else "",
        missing="" if some else _why(variant, missing) or _DISTURBED,
        table_bytes=subject.table_bytes if subject else 0,
        figures=some,
    )


def _usable(
    cells: Sequence[Mapping[tuple[str, int], Run]], name: str, size: int, process: int
) -> Run | None:
    """Return a process's run of a cell, unless others kept more than twice as many samples."""
    kept = [run.kept for runs in cells if (run := runs.get((name, size))) is not None]
    found = cells[process].get((name, size))
    return found if found is not None and 2 * found.kept >= max(kept) else None


def figure(size: int, runs: Runs, baseline: Runs) -> Figure | None:
    """Return the statistics of one row at one size, or None without a usable run."""
    own = [run for run in runs if run is not None]
    if not own:
        return None
    ratios = [
        base.median / run.median
        for run, base in zip(runs, baseline, strict=True)
        if run is not None and base is not None
    ]
    return Figure(
        size=size,
        cycles=round(median(run.median for run in own), 3),
        low=round(min(run.low for run in own), 3),
        high=round(max(run.high for run in own), 3),
        ratio=round(median(ratios), 4) if ratios else None,
        ratio_low=round(min(ratios), 4) if ratios else None,
        ratio_high=round(max(ratios), 4) if ratios else None,
        processes=len(own),
        kept=sum(run.kept for run in own),
        dropped=sum(run.dropped for run in own),
    )
