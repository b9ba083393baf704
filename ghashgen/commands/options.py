"""Options that several verbs share: the choice of kernels, the target, how results are printed."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from ghashgen.catalogue import Choice
from ghashgen.errors import GhashgenError
from ghashgen.paths import project_root

F = TypeVar("F", bound=Callable[..., Any])


_FILTERS: tuple[tuple[str, type, str], ...] = (
    ("isa", str, "Instruction set."),
    ("multiply", str, "Multiply scheme."),
    ("reduce", str, "Reduction scheme."),
    ("order", str, "Bit order: reflected, natural."),
    ("blocks", int, "Blocks a group, 1-48."),
    ("op", str, "Operation: ghash, polyval."),
    ("fold", str, "Lanes are added up: after each group, at the end."),
    ("swap", str, "Byte swap: register, stack."),
    ("powers", str, "Powers of the group loop: memory, registers."),
    ("pipeline", str, "What a group prepares of the next: none, ahead."),
    ("schedule", str, "Order of operations: written, a CPU's name, or NAME-solved."),
    ("name", str, "Kernel of the catalogue, by name."),
)

_FLAGS: tuple[tuple[str, str], ...] = (
    ("wipe", "Zero secrets on return."),
    ("segments", "Export power and combine too, for hashing in threads."),
)


def choice_options(function: F) -> F:
    """Add the filters by axis; the verb receives one `choice`."""

    @wraps(function)
    def gather(*args: Any, **kwargs: Any) -> Any:
        axes = {name: kwargs.pop(name) for name, _, _ in _FILTERS}
        for name, _ in _FLAGS:
            value = kwargs.pop(name)
            axes[name] = () if value is None else (value,)
        return function(*args, choice=Choice(**axes), **kwargs)

    out: Any = gather
    for name, text in _FLAGS:
        out = click.option(f"--{name}/--no-{name}", default=None, help=text)(out)
    for name, kind, text in reversed(_FILTERS):
        out = click.option(f"--{name}", multiple=True, type=kind, help=text)(out)
    return out  # type: ignore[no-any-return]


def target_options(function: F) -> F:
    """Add the rendering axes."""
    out: Any = function
    for option in (
        click.option("--prefix", default="", help="Put before every symbol, macro and file name."),
        click.option("--abi", default="sysv", show_default=True, help="sysv or win64."),
    ):
        out = option(out)
    return out  # type: ignore[no-any-return]


def _sizes(context: click.Context, option: click.Parameter, text: str | None) -> tuple[int, ...]:
    units = {"k": 1 << 10, "m": 1 << 20}
    try:
        parts = [part.strip().lower() for part in text.split(",")] if text else []
        return tuple(int(p[:-1]) * units[p[-1]] if p[-1:] in units else int(p) for p in parts)
    except ValueError:
        raise GhashgenError(f"{text!r} is no list of sizes", "write 16,64,1500,4k,1m") from None


sizes_option = click.option("--sizes", callback=_sizes, help="Bytes, as 16,64,1500,4k,1m.")

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")


def default_out() -> Path:
    """Return the checked-in output folder."""
    return project_root() / "generated"


def build_folder(name: str) -> Path:
    """Return a folder below build/, for what may be deleted at any time."""
    return project_root() / "build" / name


def console(width: int = 160) -> Console:
    """Return the console for results; wide enough to keep a table's rows whole in a pipe."""
    return Console(width=None if sys.stdout.isatty() else width, highlight=False)


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
