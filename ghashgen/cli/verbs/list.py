"""ghashgen list: list kernels and their axes."""

from collections.abc import Iterator

import click

from ghashgen.cli.verbs.options import choice_options, chosen_kernels, json_option, print_json
from ghashgen.kernels.core import Point, Value
from ghashgen.kernels.families import axes_of, family_of, in_order
from ghashgen.kernels.selection import Choice
from ghashgen.support.tables import Table, say, show
from ghashgen.support.wording import counted

CLAIMS = "claims"
"""The facet of families that the prover knows."""


@click.command("list")
@choice_options
@json_option
def COMMAND(choice: Choice, as_json: bool) -> None:
    """List kernels; without filters, the checked-in catalogue."""
    kernels = chosen_kernels(choice).kernels
    if as_json:
        print_json(
            [
                {
                    "name": k.name,
                    "family": k.family,
                    **axes_of(k),
                    "table_bytes": k.layout.size,
                    "provable": not any(_unproved(k)),
                }
                for k in kernels
            ]
        )
        return
    shown = {k.family for k in kernels}
    numbers = {axis.name: axis.is_number for f in in_order() if f.name in shown for axis in f.axes}
    # Numbers go last. Any axis may be dropped on a narrow terminal: the name shows every value that
    # is not a default.
    columns = tuple(sorted(numbers, key=lambda axis: numbers[axis]))
    rows = []
    for k in kernels:
        own = {axis.name for axis in family_of(k).axes}
        words = (_word(getattr(k, c)) if c in own else "" for c in columns)
        rows.append((k.name, *words, str(k.layout.size)))
    marked = (f">{axis}" if numbers[axis] else axis for axis in columns)
    tables = dict.fromkeys(family.table for family in in_order() if family.name in shown)
    heads = ("kernel", *marked, f">{' or '.join(tables)} bytes")
    spare = tuple(axis for axis in columns if not numbers[axis])[::-1]
    show(Table(counted(len(kernels), "kernel"), heads, tuple(rows), spare=spare))
    if unproved := sorted({of for k in kernels for of in _unproved(k)}):
        say(f"{' and '.join(unproved)} kernels are not proved (SOUNDNESS.md)")


def _word(value: Value) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _unproved(kernel: Point) -> Iterator[str]:
    """Yield the architecture or family that the prover does not know."""
    arch, family = kernel.instruction_set.arch, family_of(kernel)
    if not arch.proved:
        yield arch.title
    if CLAIMS not in family.facets:
        yield family.title
