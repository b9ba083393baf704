"""Options that several verbs share: the choice of kernels, the target, how results are printed."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from ghashgen.catalogue import Choice
from ghashgen.paths import project_root

F = TypeVar("F", bound=Callable[..., Any])


def choice_options(function: F) -> F:
    """Add the filters by axis; the verb receives one `choice`."""

    def gather(
        *args: Any,
        isa: tuple[str, ...],
        multiply: tuple[str, ...],
        reduce: tuple[str, ...],
        order: tuple[str, ...],
        blocks: tuple[int, ...],
        wipe: bool | None,
        name: tuple[str, ...],
        **kwargs: Any,
    ) -> Any:
        choice = Choice(isa, multiply, reduce, order, blocks, wipe, name)
        return function(*args, choice=choice, **kwargs)

    gather.__name__, gather.__doc__ = function.__name__, function.__doc__
    gather.__dict__.update(function.__dict__)
    out: Any = gather
    for option in (
        click.option("--name", multiple=True, help="Kernel of the catalogue, by name."),
        click.option("--wipe/--no-wipe", default=None, help="Zero secrets before returning."),
        click.option("--blocks", multiple=True, type=int, help="Blocks a group, 1-48."),
        click.option("--order", multiple=True, help="Bit order: reflected, natural."),
        click.option("--reduce", multiple=True, help="Reduction scheme."),
        click.option("--multiply", multiple=True, help="Multiply scheme."),
        click.option("--isa", multiple=True, help="Instruction set."),
    ):
        out = option(out)
    return out  # type: ignore[no-any-return]


def target_options(function: F) -> F:
    """Add the rendering axes."""
    out: Any = function
    for option in (
        click.option("--prefix", default="", help="Put before every symbol."),
        click.option("--abi", default="sysv", show_default=True, help="sysv or win64."),
    ):
        out = option(out)
    return out  # type: ignore[no-any-return]


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")


def default_out() -> Path:
    """Return the checked-in output folder."""
    return project_root() / "generated"


def build_folder(name: str) -> Path:
    """Return a folder below build/, for what may be deleted at any time."""
    return project_root() / "build" / name


def console() -> Console:
    """Return the console for results; wide enough to keep a table's rows whole in a pipe."""
    return Console(width=None if sys.stdout.isatty() else 160, highlight=False)


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    click.echo(json.dumps(value, indent=1, ensure_ascii=False))


def table(title: str, *columns: str) -> Table:
    """Return an empty table; a column named with a leading > is right-aligned."""
    out = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for column in columns:
        right = column.startswith(">")
        out.add_column(column.removeprefix(">"), justify="right" if right else "left")
    return out


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[object], None]]:
    """Show a bar on standard error; yields what to call after each item."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda item: bar.advance(task)
