"""ghashgen vendor: put proved kernels into your tree, and keep them current."""

import shlex
from pathlib import Path

import click
from click.core import ParameterSource

from ghashgen.check import evidence, ledger, vendoring
from ghashgen.cli.verbs.options import (
    choice_options,
    chosen_kernels,
    emission_target,
    format_option,
    json_option,
    print_json,
    progress,
    say_left_out,
    say_twins,
    target_options,
    threads_option,
)
from ghashgen.kernels.selection import Choice
from ghashgen.kernels.target import arch_of
from ghashgen.output import vendored
from ghashgen.output.hosts.registry import DEFAULT, hosts
from ghashgen.support.errors import GhashgenError
from ghashgen.support.tables import Table, say, show
from ghashgen.support.wording import counted

_OF_A_RUN = {"into": "--into", "force": "--force", "checked": "--check", "as_json": "--json"}
"""Options that do not affect what the folder holds."""

_REPROVE = "--reprove"
"""The option that VENDORED tells an auditor to add."""


@click.command("vendor")
@choice_options
@target_options
@format_option
@threads_option
@click.option(
    "--into",
    type=click.Path(path_type=Path, file_okay=False),
    help="Your folder. Without a choice of kernels, remake what its VENDORED lists.",
)
@click.option(
    "--check",
    "checked",
    type=click.Path(path_type=Path, file_okay=False),
    help="Compare this folder with its VENDORED and this version; write nothing.",
)
@click.option("--unproved", is_flag=True, help="Also take kernels that are not proved, and say so.")
@click.option(
    "--reprove", is_flag=True, help="Prove every kernel now; use no recorded or cached proof."
)
@click.option("--force", is_flag=True, help="Overwrite files that were edited by hand.")
@json_option
def COMMAND(
    choice: Choice,
    abi: str,
    prefix: str,
    table_align: int,
    syntax: str,
    backend: str,
    fmt: str,
    threads: bool,
    into: Path | None,
    checked: Path | None,
    unproved: bool,
    reprove: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Put proved kernels into your tree, with all that they need and a record.

    It writes the kernels' assembly, a header, LICENSE, the dispatcher if there is a choice, the
    thread pool with --threads, and VENDORED: what made this, every file's SHA-256, and what is
    proved about each kernel. Each kernel is proved from its assembled bytes first, unless
    PROOFS.json records the proof of exactly these bytes (--reprove proves them all). All files are
    written or none. Files edited by hand stay; files from an earlier run that are no longer needed
    are removed. See docs/vendoring.md.
    """
    if (into is None) == (checked is None):
        raise GhashgenError("vendor takes --into FOLDER, or --check FOLDER", "give one of them")
    words = _words(click.get_current_context())
    if checked is not None:
        _check(checked, words, as_json)
        return
    assert into is not None
    if choice == Choice():
        _again(into, words, force, as_json)
        return
    found = chosen_kernels(choice)
    where = emission_target(abi, fmt, prefix, table_align, syntax, backend, arch_of(found.kernels))
    order = vendoring.Order(found.kernels, where, hosts()[DEFAULT], words, threads, unproved)
    with progress("generate", len(found.kernels)) as advance:
        prepared = vendoring.prepare(order, into, force, advance)
    planned = evidence.plan(prepared.artefacts, order.elf, reprove)
    _say_plan(planned)
    with progress("prove", len(planned.unrecorded)) as advance:
        known = evidence.prove(planned, unproved, advance)
    fates = vendoring.write(prepared, known, into, force)
    if any(prepared.callers):
        say_left_out(prepared.entries)
    say_twins(choice, found)
    for name in prepared.idle:
        click.echo(f"{name}: called by {vendoring.IDLE}", err=True)
    names = [kernel.name for kernel in found.kernels]
    unknown = [name for name, each in zip(names, known, strict=True) if each.refused]
    recorded = [kernel.name for kernel in planned.on_record]
    if as_json:
        print_json(
            {
                "into": str(into),
                "files": fates,
                "kernels": names,
                "not_proved": unknown,
                "proofs_on_record": recorded,
            }
        )
        return
    kernels = counted(len(names) - len(unknown), "proved kernel")
    kernels += f", {len(unknown)} NOT PROVED" if unknown else ""
    click.echo(f"{kernels} in {into}: {_sum(list(fates.values()))}; VENDORED says how to build")


def _say_plan(planned: evidence.Plan) -> None:
    """Say on standard error which kernels are proved now, and why."""
    if planned.record.why:
        click.echo(f"no recorded proof counts: {planned.record.why}", err=True)
    if planned.on_record:
        total = counted(len(planned.artefacts), "kernel")
        on_record = f"{len(planned.on_record)} of {total}"
        click.echo(f"proved already, in {ledger.NAME}: {on_record}", err=True)
    if names := [each.name for each in planned.unrecorded]:
        click.echo(f"to prove now, or from the cache: {', '.join(names)}", err=True)


def _sum(fates: list[str]) -> str:
    counts = {fate: fates.count(fate) for fate in ("new", "rewritten", "unchanged", "removed")}
    return ", ".join(f"{n} {fate}" for fate, n in counts.items() if n)


def _words(context: click.Context) -> tuple[str, ...]:
    """Return the call's options that affect what the folder holds, in the order of --help."""
    words: list[str] = []
    for option in context.command.params:
        given = context.get_parameter_source(option.name or "") is ParameterSource.COMMANDLINE
        if option.name in _OF_A_RUN or not given:
            continue
        value = context.params[option.name or ""]
        if isinstance(value, bool):
            words += [option.opts[0] if value else option.secondary_opts[0]]
            continue
        for each in value if isinstance(value, tuple) else (value,):
            words += [option.opts[0], str(each)]
    return tuple(words)


def _again(into: Path, words: tuple[str, ...], force: bool, as_json: bool) -> None:
    """Make what the folder's record says, with this version."""
    choose = "choose some with --name, --isa …; ghashgen recommend suggests one"
    reprove, record = _REPROVE in words, vendored.read(into)
    if record is None:
        raise GhashgenError(f"you chose no kernels, and {into} has no {vendored.NAME}", choose)
    path = into / vendored.NAME
    if words := tuple(word for word in words if word != _REPROVE):
        raise GhashgenError(
            f"{words[0]} needs a choice of kernels; those in {path} keep their own options",
            f"name all: ghashgen vendor --into {into} {shlex.join((*record.options, *words))}",
        )
    if not record.whole or {*record.options} & {*_OF_A_RUN.values()}:
        raise GhashgenError(f"{path} was edited by hand, so ghashgen does not trust it", choose)
    more = ["--into", str(into), *(["--force"] if force else []), *(["--json"] if as_json else [])]
    more += [_REPROVE] if reprove else []
    with COMMAND.make_context("vendor", [*record.options, *more]) as context:
        COMMAND.invoke(context)


def _check(folder: Path, words: tuple[str, ...], as_json: bool) -> None:
    """Report for each file whether it is what this version makes."""
    if words:
        raise GhashgenError(
            f"--check takes no {words[0]}", "leave it out; VENDORED has the options"
        )
    record = vendored.read(folder)
    if record is None:
        raise GhashgenError(
            f"{folder} has no {vendored.NAME}", "write it: ghashgen vendor --into FOLDER --name …"
        )
    states = vendored.states(folder, record, vendoring.this_maker())
    wrong = [name for name, state in states.items() if state != vendored.UNCHANGED]
    if as_json:
        print_json({"folder": str(folder), "files": states})
    else:
        files = counted(len(states), "file")
        show(Table(f"{files} in {folder}", ("file", "state"), tuple(states.items())))
    if wrong:
        raise GhashgenError(
            f"{folder} is not what this version makes: {wrong[0]} is {states[wrong[0]]}"
            + (f", {len(wrong) - 1} more" if wrong[1:] else ""),
            f"run ghashgen vendor --into {folder} (with --force if it was edited)",
        )
    if not as_json:
        say(
            f"every file has the SHA-256 that {vendored.NAME} lists, and {vendored.NAME} names "
            "this ghashgen's version and sources; nothing was made or proved again"
        )
