"""Options that several verbs share: the choice of kernels, the target, how results are printed."""

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from ghashgen.arch.registry import DEFAULT, arches, syntaxes
from ghashgen.kernels.axes import Axis
from ghashgen.kernels.core import Family, Point
from ghashgen.kernels.families import families
from ghashgen.kernels.manifest import Entry
from ghashgen.kernels.selection import (
    Choice,
    Selection,
    all_axes,
    catalogue,
    look_up,
    look_up_of,
    values_of,
)
from ghashgen.kernels.target import BACKENDS, OWN, TABLE_ALIGNS, Target, target
from ghashgen.support.errors import GhashgenError
from ghashgen.support.paths import cache_folder, kernels_folder

F = TypeVar("F", bound=Callable[..., Any])
K = TypeVar("K", bound=Point)

NAME_HELP = "Kernel of the catalogue, or a glob in quotes: 'ghash_avx_*'."

RULE = """
    Which kernels: give an option several times to allow several values. Each combination of the
    values stands for all kernels of the catalogue that have them, whatever else they do (--plain:
    for those that do nothing else). Where the catalogue has none, kernels are made on demand: other
    axes at their defaults, with every multiply and reduce that fits. A combination that makes no
    sense is named and left out. --name takes kernels of the catalogue; the other filters narrow
    them down. A kernel that lacks an axis is not chosen by it."""

FAMILY_HELP = (
    "Family of kernels (default: all; a kernel made on demand belongs to the first that fits)."
)

PLAIN_HELP = "Only kernels whose other axes are at their defaults: no twins that wipe, stream …"


def choice_options(function: F) -> F:
    """Add the filters by axis; the verb receives one `choice`.

    An axis of several families is one option, with the help of the first.
    """
    axes = [alike[0] for alike in all_axes().values()]

    @wraps(function)
    def gather(*args: Any, **kwargs: Any) -> Any:
        given = {axis.name: kwargs.pop(axis.name) for axis in axes}
        for axis in axes:
            if axis.is_flag:
                value = given[axis.name]
                given[axis.name] = () if value is None else (value,)
        whole = {key: kwargs.pop(key) for key in ("name", "family", "plain")}
        choice = Choice(**whole, **given)
        return function(*args, choice=choice, **kwargs)

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


def _axis_option(axis: Axis) -> Callable[[F], F]:
    if axis.is_flag:
        return click.option(f"--{axis.name}/--no-{axis.name}", default=None, help=axis.help)
    return click.option(
        f"--{axis.name}",
        multiple=True,
        type=int if axis.is_number else str,
        help=axis.help,
        shell_complete=complete,
    )


def complete(
    context: click.Context, option: click.Parameter, begun: str
) -> list[CompletionItem[str]]:
    """Return the values of an axis, or the kernels' names, that begin so."""
    axis = option.name or ""
    known = [kernel.name for kernel in catalogue()] if axis == "name" else values_of(axis)
    return _beginning(known, begun)


def one_of(
    known: Callable[[], Iterable[str]],
) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem[str]]]:
    """Return what completes one of these values."""
    return lambda context, option, begun: _beginning(known(), begun)


def _beginning(known: Iterable[str], begun: str) -> list[CompletionItem[str]]:
    return [CompletionItem(value) for value in known if value.startswith(begun)]


def chosen_kernels(
    choice: Choice, able: Callable[[Family[Any]], object] = lambda family: True
) -> Selection[Point]:
    """Return the kernels of a choice; say on standard error what was left out, and why.

    `able` says of which families, where a verb cannot work on all.
    """
    return _said(look_up(choice, able))


def chosen_of(kind: type[K], choice: Choice) -> Selection[K]:
    """Return those of a family, for verbs that work on one alone."""
    return _said(look_up_of(kind, choice))


def _said(found: Selection[K]) -> Selection[K]:
    reasons: dict[str, list[str]] = {}
    for item in found.left_out:
        reasons.setdefault(str(item.why), []).append(f"({item})")
    for why, combinations in reasons.items():
        click.echo(f"left out: {', '.join(combinations)}: {why}", err=True)
    return found


def say_twins(choice: Choice, found: Selection[Point]) -> None:
    """Say on standard error how many kernels do what nobody asked for, where others do not."""
    more = [axes for kernel in found.kernels if (axes := choice.beyond(kernel))]
    if not choice.axes or choice.name or not more or len(more) == len(found.kernels):
        return
    which = ", ".join(dict.fromkeys(axis for each in more for axis in each))
    click.echo(
        f"{len(more)} of the {len(found.kernels)} kernels are away from the defaults of axes that "
        f"were not given ({which}); --plain leaves them out",
        err=True,
    )


def conventions() -> tuple[str, ...]:
    """Return the name of every calling convention."""
    return tuple(name for arch in arches().values() for name in arch.abis)


table_align_option = click.option(
    "--table-align",
    type=int,
    default=0,
    help="Alignment of the table that callers promise, 1 to 64 bytes; default 1, or 16 for sse.",
    shell_complete=one_of(lambda: map(str, TABLE_ALIGNS)),
)


def target_options(function: F) -> F:
    """Add the rendering axes."""
    out: Any = function
    for option in (
        click.option("--prefix", default="", help="Put before every symbol, macro and file name."),
        click.option(
            "--abi",
            default="",
            help="sysv (the default) or win64; aapcs64 for AArch64.",
            shell_complete=one_of(conventions),
        ),
        table_align_option,
        click.option(
            "--syntax",
            default="",
            help="nasm (the default); gas (GNU as and Clang, Intel operand order); gas-att; "
            "for AArch64 gas alone.",
            shell_complete=one_of(syntaxes),
        ),
        click.option(
            "--backend",
            default=OWN,
            show_default=True,
            help="Who allocates registers and encodes: own, or peachpy, for isa avx and abi sysv.",
            shell_complete=one_of(lambda: BACKENDS),
        ),
    ):
        out = option(out)
    return out  # type: ignore[no-any-return]


format_option = click.option(
    "--format",
    "fmt",
    default="",
    help="elf64, win64 or macho64; without it --abi decides, and win64 alone means --abi win64.",
    shell_complete=one_of(
        lambda: tuple({name: 0 for arch in arches().values() for name in arch.formats})
    ),
)

threads_option = click.option(
    "--threads", is_flag=True, help="Add a pool of threads for one message (--segments)."
)


def emission_target(
    abi: str,
    fmt: str,
    prefix: str,
    table_align: int,
    syntax: str,
    backend: str,
    arch: str = DEFAULT,
) -> Target:
    """Return the target of files to emit; say on standard error what a format without its
    convention stands for.

    Raises:
        GhashgenError: as `kernels.target.target`.
    """
    where = target(abi, fmt, prefix, syntax, table_align, arch, backend)
    convention, others = where.abi, arches()[arch].abis.values()
    if not abi and convention != arches()[arch].default_abi:
        said = f"--format {fmt} without --abi: --abi {convention.name}, {convention.title}"
        click.echo(said, err=True)
    elif any(where.fmt.name == other.format != convention.format for other in others):
        click.echo(
            f"calls by {convention.title} in a file of {where.fmt.title}, as asked: C must declare "
            f"the functions with __attribute__(({convention.attribute})) (GCC, Clang)",
            err=True,
        )
    return where


def say_left_out(entries: Iterable[Entry]) -> None:
    """Say which figures the dispatcher's order does not rest on, being those of other code."""
    # The records are large, and completion has no use for them.
    from ghashgen.choice.candidate import candidates
    from ghashgen.choice.families.registry import questions
    from ghashgen.choice.figures import left_out
    from ghashgen.output.dispatcher import recorded

    entries = tuple(entries)
    for family in questions():
        for line in left_out(recorded(family), candidates(entries, family)):
            click.echo(line, err=True)


def _sizes(context: click.Context, option: click.Parameter, text: str | None) -> tuple[int, ...]:
    from ghashgen.lab.bench.limits import refuse_sizes

    units = {"k": 1 << 10, "m": 1 << 20}
    try:
        parts = [part.strip().lower() for part in text.split(",")] if text else []
        sizes = tuple(int(p[:-1]) * units[p[-1]] if p[-1:] in units else int(p) for p in parts)
    except ValueError:
        raise GhashgenError(f"{text!r} is no list of sizes", "write 16,64,1500,4k,1m") from None
    refuse_sizes(sizes)
    return sizes


def _core(context: click.Context, option: click.Parameter, core: int) -> int:
    from ghashgen.lab.bench.limits import refuse_core

    refuse_core(core)
    return core


sizes_option = click.option("--sizes", callback=_sizes, help="Bytes, as 16,64,1500,4k,1m.")

core_option = click.option(
    "--core",
    type=int,
    default=-1,
    callback=_core,
    help="Core to stay on (default: the last allowed).",
)

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")


def default_out() -> Path:
    """Return the output folder where no other is named: generated/ of the clone, or here."""
    return kernels_folder()


def build_folder(name: str) -> Path:
    """Return a file or folder in the cache, for what may be deleted at any time."""
    return cache_folder() / name


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    click.echo(json.dumps(value, indent=1, ensure_ascii=False))


EVERY = 10
"""Seconds between two lines of progress, where standard error is no terminal."""


@contextmanager
def progress(what: str, total: int | None) -> Iterator[Callable[[object], None]]:
    """Show progress on standard error; yields what to call after each item.

    On a terminal it is a bar, elsewhere a line every EVERY seconds. `total` None: nobody knows.
    """
    watched = sys.stderr.isatty()
    with _bar(what, total) if watched else nullcontext(_lines(what, total)) as advance:
        yield advance


def _lines(what: str, total: int | None) -> Callable[[object], None]:
    start = said = time.monotonic()
    done = 0

    def advance(item: object) -> None:
        nonlocal said, done
        done += 1
        now = time.monotonic()
        if now - said >= EVERY:
            said = now
            of = "" if total is None else f" of {total}"
            click.echo(f"{what}: {done}{of} done in {now - start:.0f} s", err=True)

    return advance


@contextmanager
def _bar(what: str, total: int | None) -> Iterator[Callable[[object], None]]:
    # Slow to import, and completion has no use for it.
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda item: bar.advance(task)
