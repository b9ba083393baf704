"""Options that several verbs share: the choice of kernels, the target, how results are printed."""

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from ghashgen.arch.registry import DEFAULT, arches, formats, syntaxes
from ghashgen.kernels.axes import Axis
from ghashgen.kernels.core import Point
from ghashgen.kernels.families import brought, families
from ghashgen.kernels.manifest import Entry
from ghashgen.kernels.selection import Choice, Selection, all_axes, catalogue, look_up, values_of
from ghashgen.kernels.target import BACKENDS, OWN, TABLE_ALIGNS, Target, runnable, target
from ghashgen.support.errors import GhashgenError
from ghashgen.support.paths import cache_folder, kernels_folder
from ghashgen.support.timer import regularly

F = TypeVar("F", bound=Callable[..., Any])

NAME_HELP = "A kernel's name, or a glob of catalogue names in quotes: 'ghash_avx_*'."

RULE = """
    Choosing kernels: repeat an option to allow several values. Each combination of values selects
    every kernel of the catalogue that has them (--plain: only kernels whose other axes are at their
    defaults). If the catalogue has none, kernels are made on demand, with the other axes at their
    defaults and every multiply and reduce that fits. Invalid combinations are named and left out.
    --name selects kernels by name, and the other filters narrow the selection. A filter
    never selects a kernel that lacks its axis."""

FAMILY_HELP = (
    "Family of kernels (default: all; a kernel made on demand belongs to the first that fits)."
)

PLAIN_HELP = "Only kernels whose other axes are at their defaults: no variants that wipe, stream …"


def choice_options(function: F) -> F:
    """Add a filter for each axis; the verb receives one `choice`.

    An axis that several families share is one option, with the first family's help text.
    """
    axes = [alike[0] for alike in all_axes().values()]

    @wraps(function)
    def gather(*args: Any, **kwargs: Any) -> Any:
        given = {name: kwargs.pop(name) for name in (*(axis.name for axis in axes), *_WHOLE)}
        return function(*args, choice=choice_of(given), **kwargs)

    gather.__doc__ = f"{function.__doc__}\n{RULE}\n"
    out: Any = gather
    out = click.option("--plain", is_flag=True, help=PLAIN_HELP)(out)
    out = click.option("--name", multiple=True, help=NAME_HELP, shell_complete=complete)(out)
    for axis in reversed(axes):
        out = _axis_option(axis)(out)
    family = click.option(
        "--family", multiple=True, help=FAMILY_HELP, shell_complete=one_of(families)
    )
    return family(out)  # type: ignore[no-any-return]


_WHOLE = ("name", "family", "plain")
"""The options of a choice that are no axis."""


def choice_options_of(values: Mapping[str, Any]) -> frozenset[str]:
    """Return those of these options that choose kernels."""
    return frozenset(values) & {*all_axes(), *_WHOLE}


def choice_of(values: Mapping[str, Any]) -> Choice:
    """Return the choice that these values of options make; others are ignored."""
    given: dict[str, Any] = {name: values[name] for name in _WHOLE}
    for name, (axis, *_) in all_axes().items():
        value = values[name]
        given[name] = value if not axis.is_flag else () if value is None else (value,)
    return Choice(**given)


def _axis_option(axis: Axis) -> Callable[[F], F]:
    if axis.is_flag:
        return click.option(f"--{axis.name}/--no-{axis.name}", default=None, help=axis.help)
    return click.option(
        axis.flag,
        multiple=True,
        type=int if axis.is_number else str,
        help=axis.help,
        shell_complete=complete,
    )


def complete(
    context: click.Context, option: click.Parameter, begun: str
) -> list[CompletionItem[str]]:
    """Return the axis values, or kernel names, with this beginning."""
    axis = option.name or ""
    known = [kernel.name for kernel in catalogue()] if axis == "name" else values_of(axis)
    return _beginning(known, begun)


def one_of(
    known: Callable[[], Iterable[str]],
) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem[str]]]:
    """Return a completion function for these values."""
    return lambda context, option, begun: _beginning(known(), begun)


def _beginning(known: Iterable[str], begun: str) -> list[CompletionItem[str]]:
    return [CompletionItem(value) for value in known if value.startswith(begun)]


def chosen_kernels(choice: Choice, facet: str = "") -> Selection[Point]:
    """Return the chosen kernels; say on standard error what was left out, and why.

    A verb works on families that bring `facet`.
    """
    found = look_up(choice, facet)
    reasons: dict[str, list[str]] = {}
    for item in found.left_out:
        reasons.setdefault(str(item.why), []).append(f"({item})")
    for why, combinations in reasons.items():
        click.echo(f"left out: {', '.join(combinations)}: {why}", err=True)
    return found


def say_twins(choice: Choice, found: Selection[Point]) -> None:
    """Say on standard error how many kernels do more than was asked for, if others do not."""
    more = [axes for kernel in found.kernels if (axes := choice.beyond(kernel))]
    if not choice.axes or choice.name or not more or len(more) == len(found.kernels):
        return
    which = ", ".join(dict.fromkeys(axis for each in more for axis in each))
    click.echo(
        f"{len(more)} of the {len(found.kernels)} kernels do more than you asked for ({which}); "
        "--plain leaves them out",
        err=True,
    )


def conventions() -> tuple[str, ...]:
    """Return the names of all calling conventions."""
    return tuple(name for arch in arches().values() for name in arch.abis)


table_align_option = click.option(
    "--table-align",
    type=int,
    default=0,
    help="Table alignment that callers promise, 1 to 64 bytes (default: 1, or 16 for sse).",
    shell_complete=one_of(lambda: map(str, TABLE_ALIGNS)),
)


@dataclass(frozen=True)
class Wanted:
    """How kernels are to be rendered, as the options say it."""

    abi: str
    prefix: str
    table_align: int
    syntax: str
    backend: str

    def runnable(self, arch: str = DEFAULT) -> Target:
        """Return the target whose objects can be run and proved here."""
        return runnable(self.abi, self.prefix, self.table_align, self.syntax, arch, self.backend)


def target_options(function: F) -> F:
    """Add the options that say how kernels are rendered; the verb receives one `wanted`."""

    @wraps(function)
    def gather(*args: Any, **kwargs: Any) -> Any:
        wanted = Wanted(**{option.name: kwargs.pop(option.name) for option in fields(Wanted)})
        return function(*args, wanted=wanted, **kwargs)

    out: Any = gather
    for option in (
        click.option("--prefix", default="", help="Put before every symbol, macro and file name."),
        click.option(
            "--abi",
            default="",
            help="Calling convention: sysv (the default) or win64; aapcs64 for AArch64.",
            shell_complete=one_of(conventions),
        ),
        table_align_option,
        click.option(
            "--syntax",
            default="",
            help="nasm (the default); gas (GNU as and Clang, Intel operand order); gas-att; "
            "bytes (for assemblers that do not know the instructions); "
            "for AArch64 only gas.",
            shell_complete=one_of(syntaxes),
        ),
        click.option(
            "--backend",
            default=OWN,
            show_default=True,
            help="Register allocator and encoder: own, or peachpy (isa avx and abi sysv only).",
            shell_complete=one_of(lambda: BACKENDS),
        ),
    ):
        out = option(out)
    return out  # type: ignore[no-any-return]


format_option = click.option(
    "--format",
    "fmt",
    default="",
    help="Object format: elf64, win64 or macho64 (default: by --abi). Alone, win64 implies --abi "
    "win64.",
    shell_complete=one_of(formats),
)

threads_option = click.option(
    "--threads", is_flag=True, help="Add a thread pool for one message; needs --segments kernels."
)


def emission_target(wanted: Wanted, fmt: str, arch: str = DEFAULT) -> Target:
    """Return the target of the files to emit.

    Say on standard error which convention a format implies, or that the two differ.

    Raises:
        GhashgenError: as `kernels.target.target`.
    """
    where = target(
        wanted.abi, fmt, wanted.prefix, wanted.syntax, wanted.table_align, arch, wanted.backend
    )
    convention, others = where.abi, arches()[arch].abis.values()
    if not wanted.abi and convention != arches()[arch].default_abi:
        said = f"--format {fmt} without --abi: --abi {convention.name}, {convention.title}"
        click.echo(said, err=True)
    elif any(where.fmt.name == other.format != convention.format for other in others):
        click.echo(
            f"the file is {where.fmt.title}, and its functions follow {convention.title}, as "
            f"asked: declare them in C with __attribute__(({convention.attribute})) (GCC, Clang)",
            err=True,
        )
    return where


def say_left_out(entries: Iterable[Entry]) -> None:
    """Say which records the dispatcher ignores because they measured other code."""
    # Imported late: the records are large, and completion does not need them.
    from ghashgen.choice.candidate import candidates
    from ghashgen.choice.figures import changed_since
    from ghashgen.output.dispatcher import recorded

    entries = tuple(entries)
    for family in brought("dispatcher"):
        pool = candidates(entries, family)
        if pool and (line := changed_since(recorded(family), pool)):
            click.echo(line, err=True)


def _sizes(context: click.Context, option: click.Parameter, text: str | None) -> tuple[int, ...]:
    from ghashgen.lab.bench.limits import refuse_sizes

    units = {"k": 1 << 10, "m": 1 << 20}
    try:
        parts = [part.strip().lower() for part in text.split(",")] if text else []
        sizes = tuple(int(p[:-1]) * units[p[-1]] if p[-1:] in units else int(p) for p in parts)
    except ValueError:
        raise GhashgenError(f"{text!r} is not a list of sizes", "write 16,64,1500,4k,1m") from None
    refuse_sizes(sizes)
    return sizes


def _core(context: click.Context, option: click.Parameter, core: int) -> int:
    from ghashgen.lab.bench.limits import refuse_core

    refuse_core(core)
    return core


sizes_option = click.option(
    "--sizes", callback=_sizes, help="Message sizes in bytes, as 16,64,1500,4k,1m."
)

core_option = click.option(
    "--core",
    type=int,
    default=-1,
    callback=_core,
    help="CPU core to run on (default: the last allowed).",
)

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")

brief_option = click.option("--brief", is_flag=True, help="Print the summary without the table.")


def default_out() -> Path:
    """Return the default output folder: generated/ of the clone, or of the working folder."""
    return kernels_folder()


def build_folder(name: str) -> Path:
    """Return a file or folder in the cache, whose content may be deleted at any time."""
    return cache_folder() / name


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    click.echo(json.dumps(value, indent=1, ensure_ascii=False))


EVERY = 10
"""Seconds before a line of progress, if standard error is not a terminal."""

LATER = 3
"""Later lines wait for this part of the time so far: a log of an hour has two dozen."""


@contextmanager
def progress(what: str, total: int | None) -> Iterator[Callable[[object], None]]:
    """Show progress on standard error; yields the function to call after each item.

    On a terminal this is a bar with the time left, elsewhere a line now and then, also during a
    long item.
    `total` is None if unknown.
    """
    watched = sys.stderr.isatty()
    with _bar(what, total) if watched else _lines(what, total) as advance:
        yield advance


@contextmanager
def _lines(what: str, total: int | None) -> Iterator[Callable[[object], None]]:
    start = said = time.monotonic()
    done = 0

    def tell() -> None:
        nonlocal said
        now = time.monotonic()
        if now - said >= (EVERY and max(EVERY, (said - start) / LATER)):
            said = now
            of = "" if total is None else f" of {total}"
            left = _left(now - start, done, total)
            click.echo(f"{what}: {done}{of} done in {now - start:.0f} s{left}", err=True)

    def advance(item: object) -> None:
        nonlocal done
        done += 1
        tell()

    with regularly(EVERY, tell):
        yield advance


def _left(seconds: float, done: int, total: int | None) -> str:
    """Say how long the rest takes, if it goes on like this."""
    if not total or not done or done == total:
        return ""
    return f", {seconds * (total - done) / done:.0f} s left"


@contextmanager
def _bar(what: str, total: int | None) -> Iterator[Callable[[object], None]]:
    # Slow to import, and completion does not need it.
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda item: bar.advance(task)
