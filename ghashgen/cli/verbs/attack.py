"""ghashgen attack: attack the prover, and run whatever it accepts."""

import sys
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import click

from ghashgen.check.attack.core import CONVENTIONS, Finding, Options, Outcome, Part
from ghashgen.check.attack.drive import Budget, drive
from ghashgen.check.attack.keep import keep
from ghashgen.check.attack.registry import parts
from ghashgen.check.proofs import require_provable
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
from ghashgen.output.folder import require_writable
from ghashgen.support.errors import GhashgenError
from ghashgen.support.tables import Table, say, show
from ghashgen.support.wording import choose_one, counted


class _Attack(click.Command):
    """The verb, with a help text that lists the parts."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the parts with their purpose."""
        with formatter.section("Parts"):
            formatter.write_dl([(part.name, part.purpose) for part in parts().values()])


@click.command("attack", cls=_Attack)
@click.option(
    "--part",
    "names",
    multiple=True,
    help="Run this part only; may be repeated. Default: all parts.",
    shell_complete=one_of(lambda: parts()),
)
@click.option("--parts", "only_list", is_flag=True, help="List the parts and stop.")
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of all random choices.")
@click.option("--count", type=click.IntRange(1), help="Number of tasks in each part.")
@click.option(
    "--seconds",
    type=click.FloatRange(0, min_open=True),
    help="Time for the whole run; the parts share it evenly.",
)
@click.option(
    "--first", type=click.IntRange(0), default=0, help="Number of the first task, to repeat one."
)
@click.option("--jobs", type=click.IntRange(1), help="Worker processes. Default: one per CPU.")
@click.option(
    "--abi",
    "abis",
    multiple=True,
    type=click.Choice(CONVENTIONS),
    help="Attack this calling convention only. Default: both.",
)
@click.option(
    "--keep",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for findings. Default: attack/found in the cache.",
)
@click.option("--verbose", is_flag=True, help="Name every accepted object that ran correctly.")
@choice_options
@json_option
def COMMAND(
    names: tuple[str, ...],
    only_list: bool,
    seed: int,
    count: int | None,
    seconds: float | None,
    first: int,
    jobs: int | None,
    abis: tuple[str, ...],
    folder: Path | None,
    verbose: bool,
    choice: Choice,
    as_json: bool,
) -> None:
    """Attack the prover: build objects that may fool it, and run every one that it accepts.

    This is a tool for maintainers; docs/attack.md says what it tries. Every finding is kept with
    the command that repeats it, and the exit status is then 2. The same seed makes the same
    attempts. Without --count or --seconds, each part runs 200 tasks.

    --seconds is a bound: tasks that are still running when the time is up are cut off and counted.
    Ctrl-C stops at once and prints what was found so far.
    """
    chosen = _parts(names)
    if only_list:
        rows = tuple((part.name, part.purpose) for part in chosen)
        show(Table("Parts of the attack", ("part", "what it tries"), rows, prose="what it tries"))
        return
    if choice != Choice():
        require_provable(chosen_kernels(choice, "trials").kernels)
    if count is None and seconds is None:
        count = 200
    options = Options(seed, build_folder("attack"), choice, abis or CONVENTIONS)
    end = None if seconds is None else time.monotonic() + seconds
    where = folder or options.folder / "found"
    require_writable(where, "--keep")
    totals: dict[str, tuple[Outcome, float]] = {}
    try:
        for left, part in zip(range(len(chosen), 0, -1), chosen, strict=True):
            share = None if end is None else max(0.0, end - time.monotonic()) / left
            _attack(part, options, Budget(count, share, first), jobs, where, totals)
    finally:
        # This prints what was found before an interrupt, too.
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
            raise GhashgenError(f"unknown part {name!r}", choose_one(name, known))
    return [known[name] for name in dict.fromkeys(names or known)]


def _attack(
    part: Part,
    options: Options,
    budget: Budget,
    jobs: int | None,
    where: Path,
    totals: dict[str, tuple[Outcome, float]],
) -> None:
    """Run one part, and keep its running sum in `totals`."""
    start = time.perf_counter()

    def found(finding: Finding) -> None:
        place = keep(where, part.name, options.seed, finding)
        say(f"FOUND by {part.name}: {finding.title}: {finding.wrong}; kept in {place}")

    totals[part.name] = Outcome(), 0.0
    if not sys.stderr.isatty():
        time_left = "" if budget.seconds is None else f" for {budget.seconds:.0f} s"
        click.echo(f"{part.name}{time_left}: {part.purpose}", err=True)
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
