"""ghashgen mutate: show that the proof rejects wrong kernels."""

from collections import Counter
from dataclasses import asdict

import click

from ghashgen.built import build
from ghashgen.catalogue import Choice, choose
from ghashgen.commands.options import (
    build_folder,
    console,
    default_out,
    json_option,
    print_json,
    progress,
    table,
)
from ghashgen.mutation import KERNELS, mutate
from ghashgen.target import target


@click.command("mutate")
@click.option("--name", multiple=True, help="Kernel of the catalogue; a fixed set by default.")
@click.option("--mutants", default=2000, show_default=True, help="How many, over all kernels.")
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
    out = table(f"{len(fates)} mutants", "kernel", *(f">{verdict}" for verdict in verdicts))
    for kernel in kernels:
        out.add_row(kernel.name, *(str(counts[kernel.name, verdict]) for verdict in verdicts))
    console().print(out)
    survivors = [fate for fate in fates if fate.verdict == "equivalent"]
    for fate in survivors:
        click.echo(f"equivalent: {fate.kernel}_{fate.function}: {fate.kind}: {fate.change}")
    click.echo(
        f"{len(fates) - len(survivors)} of {len(fates)} mutants rejected, {len(survivors)} proved "
        f"equivalent, {seconds:.0f} s"
    )
