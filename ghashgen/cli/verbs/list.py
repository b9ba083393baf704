"""ghashgen list: the kernels and their axes."""

from dataclasses import asdict

import click

from ghashgen.cli.verbs.options import choice_options, chosen_of, json_option, print_json
from ghashgen.kernels.hash.axes import AXES
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.selection import Choice
from ghashgen.support.tables import Table, say, show
from ghashgen.support.wording import counted


@click.command("list")
@choice_options
@json_option
def COMMAND(choice: Choice, as_json: bool) -> None:
    """List kernels; without filters, the checked-in catalogue."""
    kernels = chosen_of(Kernel, choice).kernels
    if as_json:
        print_json(
            [
                {
                    "name": k.name,
                    **asdict(k),
                    "table_bytes": k.table_bytes,
                    "provable": k.instruction_set.arch.proved,
                }
                for k in kernels
            ]
        )
        return
    columns = tuple(axis.name for axis in AXES if not axis.is_number)
    rows = []
    for k in kernels:
        axes = [{True: "yes", False: "no"}.get(v, v) for v in (getattr(k, c) for c in columns)]
        rows.append((k.name, *axes, str(k.blocks), str(k.table_bytes)))
    # A name says every axis that is not at its default.
    heads = ("kernel", *columns, ">blocks", ">table bytes")
    unproved = sorted(
        {k.instruction_set.arch.title for k in kernels if not k.instruction_set.arch.proved}
    )
    show(Table(counted(len(kernels), "kernel"), heads, tuple(rows), spare=columns[::-1]))
    if unproved:
        say(f"the bytes of {' and '.join(unproved)} kernels are not proved (SOUNDNESS.md)")
