"""ghashgen list: the kernels and their axes."""

from dataclasses import asdict

import click

from ghashgen.catalogue import Choice, choose
from ghashgen.commands.options import choice_options, console, json_option, print_json, table


@click.command("list")
@choice_options
@json_option
def COMMAND(choice: Choice, as_json: bool) -> None:
    """List kernels; without filters, the checked-in catalogue."""
    kernels = choose(choice)
    if as_json:
        print_json([{"name": k.name, **asdict(k), "table_bytes": k.table_bytes} for k in kernels])
        return
    columns = (
        "op",
        "isa",
        "multiply",
        "reduce",
        "order",
        "fold",
        "swap",
        "powers",
        "pipeline",
        "schedule",
        "segments",
        "wipe",
    )
    out = table(f"{len(kernels)} kernels", "kernel", *columns, ">blocks", ">table bytes")
    for k in kernels:
        axes = [{True: "yes", False: "no"}.get(v, v) for v in (getattr(k, c) for c in columns)]
        out.add_row(k.name, *axes, str(k.blocks), str(k.table_bytes))
    console().print(out)
