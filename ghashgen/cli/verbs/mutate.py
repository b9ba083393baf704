"""ghashgen mutate: show that the proof rejects wrong kernels."""

from collections import Counter
from dataclasses import asdict

import click

from ghashgen.check.mutation import KERNELS, mutate
from ghashgen.cli.verbs.options import (
    build_folder,
    complete,
    default_out,
    json_option,
    print_json,
    progress,
)
from ghashgen.kernels.hash.catalogue import Choice, choose
from ghashgen.kernels.target import target
from ghashgen.run.built import build
from ghashgen.support.tables import Table, say, show
from ghashgen.support.wording import counted


@click.command("mutate")
@click.option(
    "--name",
    multiple=True,
    help="Kernel of the catalogue, or a glob in quotes; a fixed set by default.",
    shell_complete=complete,
)
@click.option(
    "--mutants",
    type=click.IntRange(1),
    default=2000,
    show_default=True,
    help="How many, over all kernels.",
)
@json_option
def COMMAND(name: tuple[str, ...], mutants: int, as_json: bool) -> None:
    """Plant faults in assembled kernels; each must be rejected or be shown equivalent."""
    kernels = choose(Choice(name=name or KERNELS))
    built = build(kernels, target(), default_out(), build_folder("obj"))
    with progress("mutate", len(built)) as advance:
        fates, seconds = mutate(built, mutants, advance)
    if as_json:
        print_json([asdict(fate) for fate in fates])
        return
    verdicts = sorted({fate.verdict for fate in fates})
    counts = Counter((fate.kernel, fate.verdict) for fate in fates)
    rows = tuple(
        (kernel.name, *(str(counts[kernel.name, verdict]) for verdict in verdicts))
        for kernel in kernels
    )
    columns = ("kernel", *(f">{verdict}" for verdict in verdicts))
    show(Table(counted(len(fates), "mutant"), columns, rows))
    survivors = [fate for fate in fates if fate.verdict == "equivalent"]
    for fate in survivors:
        say(f"equivalent: {fate.kernel}_{fate.function}: {fate.kind}: {fate.change}")
    say(
        f"{len(fates) - len(survivors)} of {counted(len(fates), 'mutant')} rejected, "
        f"{len(survivors)} proved equivalent, {seconds:.0f} s"
    )
    if len(fates) < mutants:
        say(f"these kernels have no more places for faults: {len(fates)} of {mutants} planted")
