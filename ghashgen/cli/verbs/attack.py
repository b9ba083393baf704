"""ghashgen attack: attack the prover, and run whatever it accepts."""

import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import click

from ghashgen.check.attack.core import Finding, Options, Outcome, Part
from ghashgen.check.attack.drive import Budget, drive
from ghashgen.check.attack.keep import keep
from ghashgen.check.attack.registry import parts
from ghashgen.cli.verbs.options import (
    build_folder,
    choice_options,
    chosen_kernels,
    json_option,
    one_of,
    print_json,
    progress,
)
from ghashgen.kernels.selection import Choice
from ghashgen.support.errors import GhashgenError
from ghashgen.support.tables import Table, say, show
from ghashgen.support.wording import choose_one, counted


@click.command("attack")
@click.option(
    "--part",
    "names",
    multiple=True,
    help="One way of attacking, may be repeated; all by default.",
    shell_complete=one_of(lambda: parts()),
)
@click.option("--seed", type=int, default=1, show_default=True, help="What is drawn, is drawn so.")
@click.option(
    "--count", type=click.IntRange(1), help="Tasks of each part: mutants, rows, programs."
)
@click.option("--seconds", type=click.FloatRange(0, min_open=True), help="Time for each part.")
@click.option(
    "--first",
    type=click.IntRange(0),
    default=0,
    help="The number of the first task: to repeat one.",
)
@click.option("--jobs", type=click.IntRange(1), help="Worker processes; default one a CPU.")
@click.option(
    "--keep",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for what is found; default attack/found in the cache.",
)
@click.option("--verbose", is_flag=True, help="Name what was accepted and is right.")
@choice_options
@json_option
def COMMAND(
    names: tuple[str, ...],
    seed: int,
    count: int | None,
    seconds: float | None,
    first: int,
    jobs: int | None,
    folder: Path | None,
    verbose: bool,
    choice: Choice,
    as_json: bool,
) -> None:
    """Attack the prover: make what may fool it, and run whatever it accepts.

    A tool of the maintainers (docs/attack.md). Whatever is accepted and wrong when run is kept with
    what it takes to repeat it, and the verb exits with status 2. The same seed makes the same
    attempts. Without --count or --seconds, 200 tasks of each part.
    """
    chosen = _parts(names)
    if choice != Choice():
        chosen_kernels(choice, lambda family: family.trials)
    if count is None and seconds is None:
        count = 200
    options = Options(seed, build_folder("attack"), choice)
    budget = Budget(count, seconds, first)
    where = folder or options.folder / "found"
    totals: dict[str, tuple[Outcome, float]] = {}
    try:
        for part in chosen:
            _attack(part, options, budget, jobs, where, totals)
    finally:
        # What was found out before an interrupt, too.
        _print(chosen, totals, verbose, as_json)
    found = [finding for outcome, _ in totals.values() for finding in outcome.findings]
    if found:
        raise GhashgenError(
            f"{counted(len(found), 'finding')}, first {found[0].title}: {found[0].wrong}",
            f"each is kept in {where}",
        )


def _parts(names: tuple[str, ...]) -> list[Part]:
    known = parts()
    for name in names:
        if name not in known:
            raise GhashgenError(f"no part is called {name!r}", choose_one(name, known))
    return [known[name] for name in dict.fromkeys(names or known)]


def _attack(
    part: Part,
    options: Options,
    budget: Budget,
    jobs: int | None,
    where: Path,
    totals: dict[str, tuple[Outcome, float]],
) -> None:
    """Attack by one part, and keep the sum in `totals` as it grows."""
    start = time.perf_counter()

    def found(finding: Finding) -> None:
        place = keep(where, part.name, options.seed, finding)
        say(f"FOUND by {part.name}: {finding.title}: {finding.wrong}; kept in {place}")

    totals[part.name] = Outcome(), 0.0
    steps = None if budget.count is None else -(-budget.count // part.together)
    with progress(part.name, steps) as advance:
        for outcome in drive(part, options, budget, jobs, found, advance):
            totals[part.name] = outcome, time.perf_counter() - start


def _said(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{what} {number}" for what, number in sorted(counts.items()))


def _print(
    chosen: list[Part], totals: dict[str, tuple[Outcome, float]], verbose: bool, as_json: bool
) -> None:
    if as_json:
        print_json(
            {
                name: {
                    **{k: v for k, v in asdict(outcome).items() if k != "findings"},
                    "tried": outcome.tried,
                    "findings": [
                        {"title": f.title, "wrong": f.wrong, "repeat": f.repeat}
                        for f in outcome.findings
                    ],
                    "seconds": round(seconds, 1),
                }
                for name, (outcome, seconds) in totals.items()
            }
        )
        return
    rows = tuple(
        (
            name,
            str(outcome.tried),
            str(sum(outcome.refused.values())),
            _said(outcome.refused),
            str(outcome.right),
            str(outcome.calls),
            _said(outcome.not_run) or "none",
            str(len(outcome.findings)),
            f"{seconds:.0f}",
        )
        for name, (outcome, seconds) in totals.items()
    )
    columns = (
        *("part", ">tried", ">refused", "refused as", ">run and right", ">calls", "not run"),
        *(">FOUND", ">seconds"),
    )
    title = "; ".join(f"{part.name}: {part.purpose}" for part in chosen if part.name in totals)
    show(Table(title, columns, rows, prose="refused as"))
    if verbose:
        for outcome, _ in totals.values():
            for note in outcome.notes:
                say(note)
