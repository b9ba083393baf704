"""ghashgen vendor: put proved kernels into your tree, and keep them current."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click
from click.core import ParameterSource

from ghashgen.arch.registry import formats as known_formats
from ghashgen.check import evidence, trial, vendoring
from ghashgen.cli.hosts import host_of, kernels_of, list_hosts
from ghashgen.cli.trial import show_trial
from ghashgen.cli.vendored import check, say_dry_run, say_plan, sum_of
from ghashgen.cli.verbs.options import (
    Wanted,
    choice_of,
    choice_options,
    choice_options_of,
    chosen_kernels,
    emission_target,
    json_option,
    one_of,
    print_json,
    progress,
    say_left_out,
    say_twins,
    target_options,
    threads_option,
)
from ghashgen.cli.verbs.recommend import kernels_for_every_cpu
from ghashgen.kernels.core import Point
from ghashgen.kernels.selection import Choice, Selection
from ghashgen.kernels.target import arch_of
from ghashgen.output import vendored
from ghashgen.output.hosts.core import BUILD_FILES, Host
from ghashgen.output.hosts.registry import hosts
from ghashgen.output.vendored import NO_BUILD_FILES
from ghashgen.support.errors import GhashgenError
from ghashgen.support.wording import counted

_OF_A_RUN = {
    "into": "--into",
    "force": "--force",
    "checked": "--check",
    "as_json": "--json",
    "add": "--add",
    "dry_run": "--dry-run",
    "listed": "--hosts",
    "tried": "--try",
    "source": "--source",
}
"""Options that do not affect what the folder holds."""

_RECOMMENDATION = ("recommended", "use_name", "host_name")
"""The options that choose among the kernels of a choice."""

_DISPATCHER = "--dispatcher"
"""The option that says the part of --recommended that is left when each kernel is named."""

_REPROVE = "--reprove"
"""The option that VENDORED tells an auditor to add."""


@click.command("vendor")
@choice_options
@target_options
@click.option(
    "--format",
    "formats",
    multiple=True,
    help="Object format: elf64, win64 or macho64 (default: by --abi). Alone, win64 implies --abi "
    "win64. Repeat it for a folder of kernels for each format, in its platform's convention.",
    shell_complete=one_of(known_formats),
)
@threads_option
@click.option(
    "--recommended",
    is_flag=True,
    help="Of these kernels, take those that recommend would name for an unknown CPU: usually one "
    "of each instruction set.",
)
@click.option(
    "--use", "use_name", default="", help="With --recommended or --host: as recommend's --use."
)
@click.option(
    "--host",
    "host_name",
    default="",
    help="Also write what this host takes: glue, build files, a test, a page; by default its "
    "kernels, as --recommended takes them.",
    shell_complete=one_of(hosts),
)
@click.option("--hosts", "listed", is_flag=True, help="List the hosts: what each needs and gets.")
@click.option(
    "--dispatcher",
    is_flag=True,
    help="Write a dispatcher for a single kernel too: it checks the CPU. --recommended and --host "
    "imply it.",
)
@click.option("--exported", is_flag=True, help="Let shared libraries export the functions.")
@click.option("--no-unwind", is_flag=True, help="Leave unwind tables out of NASM's files.")
@click.option(NO_BUILD_FILES, "no_build_files", is_flag=True, help="Leave out the build files.")
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
@click.option(
    "--try",
    "tried",
    default="",
    help="Build this host's own sources with our kernels in a scratch folder, and run its tests; "
    "measure both, and prove the objects that its build made.",
    shell_complete=one_of(lambda: (name for name, host in hosts().items() if host.trial)),
)
@click.option(
    "--source",
    type=click.Path(path_type=Path, file_okay=False),
    help="With --try: a folder of the host's sources (default: its Debian source package).",
)
@click.option("--add", is_flag=True, help="Keep the folder's kernels, and add these.")
@click.option("--dry-run", is_flag=True, help="Say what would be done; write and prove nothing.")
@click.option(
    "--unproved", is_flag=True, help="Also take kernels that are not proved; VENDORED says so."
)
@click.option(
    "--reprove", is_flag=True, help="Prove every kernel now; use no recorded or cached proof."
)
@click.option("--force", is_flag=True, help="Overwrite files that were edited by hand.")
@json_option
def COMMAND(
    choice: Choice,
    wanted: Wanted,
    formats: tuple[str, ...],
    threads: bool,
    recommended: bool,
    use_name: str,
    host_name: str,
    listed: bool,
    dispatcher: bool,
    exported: bool,
    no_unwind: bool,
    no_build_files: bool,
    tried: str,
    source: Path | None,
    into: Path | None,
    checked: Path | None,
    add: bool,
    dry_run: bool,
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
    are removed and named. --add keeps the kernels of earlier runs. --host adds what a kind of
    project takes to use them. See docs/vendoring.md.
    """
    if [into is None, checked is None, not tried, not listed].count(False) != 1:
        raise GhashgenError(
            "vendor takes --into FOLDER, --check FOLDER, --try HOST or --hosts", "give one of them"
        )
    if listed:
        list_hosts(as_json)
        return
    if source and not tried:
        raise GhashgenError("--source needs --try", "add it, or leave out --source")
    if tried:
        _require_trial(add, dry_run, force, host_name)
        host_name = host_of(tried, to_try=True).name
    words = _words(click.get_current_context())
    if checked is not None:
        check(checked, words, as_json)
        return
    if add and into:
        _add(into, choice, recommended, use_name, host_name)
        return
    if into and choice == Choice() and not recommended and not host_name:
        _again(into, words)
        return
    found = _kernels(choice, recommended, use_name, host_name)
    host = host_of(host_name)
    if host.wanted:
        host.wanted.require(found.kernels, host.name)
    wanted = replace(
        wanted,
        prefix=wanted.prefix or host.prefix,
        table_align=wanted.table_align or host.table_align,
        syntax=wanted.syntax or host.syntax,
    )
    if len(formats) > 1:
        _require_formats(formats, wanted, host)
    arch = arch_of(found.kernels)
    where = tuple(
        replace(emission_target(wanted, fmt, arch), hidden=not exported, unwind=not no_unwind)
        for fmt in formats or ("",)
    )
    any_cpu = recommended or dispatcher or host.wanted is not None
    order = vendoring.Order(
        *(found.kernels, where, host, words, threads, unproved, any_cpu, not no_build_files)
    )
    if tried:
        show_trial(
            trial.run(order, source, reprove, lambda line: click.echo(line, err=True)), as_json
        )
        return
    assert into is not None
    with progress("generate", len(found.kernels) * len(where)) as advance:
        prepared = vendoring.prepare(order, into, force, advance)
    planned = evidence.plan(prepared.artefacts, reprove)
    say_plan(planned)
    if dry_run:
        say_dry_run(prepared, planned, into, as_json)
        return
    with progress("prove", len(planned.unrecorded)) as advance:
        known = evidence.prove(planned, unproved, advance)
    fates = vendoring.write(prepared, known, into, force)
    if any(prepared.callers):
        say_left_out(prepared.entries)
    if not recommended and not (host.wanted and not choice.name):
        say_twins(choice, found)
    for name in prepared.idle:
        click.echo(f"{name}: called by {vendoring.IDLE}", err=True)
    names = [kernel.name for kernel in found.kernels]
    taken = zip(prepared.artefacts, known, strict=True)
    unknown = [*dict.fromkeys(a.kernel.name for a, each in taken if each.refused)]
    recorded = [*dict.fromkeys(kernel.name for kernel, _ in planned.on_record)]
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
    click.echo(f"{kernels} in {into}: {sum_of(list(fates.values()))}; VENDORED says how to build")
    if gone := [name for name, fate in fates.items() if fate == vendoring.REMOVED]:
        click.echo(f"removed: {', '.join(gone)}")


def _require_formats(formats: Sequence[str], wanted: Wanted, host: Host) -> None:
    """Refuse several formats where they have no meaning."""
    if len({*formats}) < len(formats):
        raise GhashgenError("--format names one format twice", "name each once")
    if wanted.abi:
        why = "with several formats, each has its platform's calling convention"
        raise GhashgenError(why, "leave out --abi")
    if host.build_files is not BUILD_FILES:
        raise GhashgenError(
            f"the build files of host {host.name} are for one format", "name one --format"
        )


def _require_trial(add: bool, dry_run: bool, force: bool, host_name: str) -> None:
    """Refuse options that a trial has no use for, because it writes nothing that stays."""
    given = {"--add": add, "--dry-run": dry_run, "--force": force, "--host": host_name}
    if odd := next((name for name, value in given.items() if value), ""):
        raise GhashgenError(f"--try takes no {odd}", "leave it out")


def _kernels(choice: Choice, recommended: bool, use_name: str, host_name: str) -> Selection[Point]:
    """Return the kernels that these options choose."""
    wanted = host_of(host_name).wanted
    if wanted is not None and not choice.name:
        return kernels_of(wanted, choice, use_name)
    if recommended:
        return Selection(kernels_for_every_cpu(choice, use_name))
    if use_name:
        raise GhashgenError(
            "--use needs --recommended or --host", "add one of them, or leave out --use"
        )
    return chosen_kernels(choice)


def _words(context: click.Context) -> tuple[str, ...]:
    """Return the call's options that affect what the folder holds, in the order of --help."""
    return tuple(
        word
        for option in _given(context)
        if option.name not in _OF_A_RUN
        for word in _said(option, context)
    )


def _given(context: click.Context) -> list[click.Parameter]:
    """Return the options that a call gives, in the order of --help."""
    told = ParameterSource.COMMANDLINE
    every = context.command.params
    return [each for each in every if context.get_parameter_source(each.name or "") is told]


def _said(option: click.Parameter, context: click.Context) -> list[str]:
    """Return an option of a call as words."""
    value = context.params[option.name or ""]
    if isinstance(value, bool):
        return [option.opts[0] if value else option.secondary_opts[0]]
    values = value if isinstance(value, tuple) else (value,)
    return [word for each in values for word in (option.opts[0], str(each))]


_CHOOSE = "choose some with --name, --isa …; ghashgen recommend suggests one"


def _trusted(into: Path, missing: GhashgenError) -> vendored.Record:
    """Return a folder's record.

    Raises:
        GhashgenError: there is none (`missing`), or it was edited by hand.
    """
    record = vendored.read(into)
    if record is None:
        raise missing
    if not record.whole or {*record.options} & {*_OF_A_RUN.values()}:
        raise GhashgenError(
            f"{into / vendored.NAME} was edited by hand, so ghashgen does not trust it", _CHOOSE
        )
    return record


def _run(words: Sequence[str]) -> None:
    """Run this verb with other options, but those of this run."""
    now = click.get_current_context()
    same = [option for option in _given(now) if option.name in _OF_A_RUN and option.name != "add"]
    more = [word for option in same for word in _said(option, now)]
    with COMMAND.make_context("vendor", [*words, *more]) as context:
        COMMAND.invoke(context)


def _again(into: Path, words: tuple[str, ...]) -> None:
    """Make what the folder's record says, with this version."""
    missing = f"you chose no kernels, and {into} has no {vendored.NAME}"
    record = vendored.read(into)
    others = [word for word in words if word != _REPROVE]
    if record is not None and others:
        raise GhashgenError(
            f"{others[0]} needs a choice of kernels; those in {into / vendored.NAME} keep their "
            "own options",
            f"name all: ghashgen vendor --into {into} {shlex.join((*record.options, *words))}",
        )
    record = _trusted(into, GhashgenError(missing, _CHOOSE))
    _run((*record.options, *(word for word in words if word not in record.options)))


def _add(into: Path, choice: Choice, recommended: bool, use_name: str, host_name: str) -> None:
    """Make the folder's kernels and the chosen ones, all as the folder's are made."""
    if choice == Choice() and not recommended and not host_name:
        raise GhashgenError("--add needs a choice of kernels", _CHOOSE)
    nothing = f"{into} has no {vendored.NAME}, so there is nothing to add to"
    record = _trusted(into, GhashgenError(nothing, "leave out --add"))
    now = click.get_current_context()
    with COMMAND.make_context("vendor", [*record.options]) as then:
        chosen = choice_options_of(then.params) | {"recommended", "use_name"}
        old = _kernels(choice_of(then.params), *(then.params[name] for name in _RECOMMENDATION))
        kept = [word for o in _given(then) if o.name not in chosen for word in _said(o, then)]
    for option in _given(now):
        if option.name in {*chosen, *_OF_A_RUN}:
            continue
        value = now.params[option.name or ""]
        if value is True:
            kept += [word for word in _said(option, now) if word not in kept]
        elif option.name == "host_name" and not then.params["host_name"]:
            kept += _said(option, now)
        elif value != then.params[option.name or ""]:
            raise GhashgenError(
                f"{' '.join(_said(option, now))} is not what {into / vendored.NAME} has, and "
                "--add makes kernels as the others are made",
                f"leave out {option.opts[0]}, or vendor into another folder",
            )
    if (recommended or then.params["recommended"]) and _DISPATCHER not in kept:
        kept.append(_DISPATCHER)
    new = _kernels(choice, recommended, use_name, host_name or then.params["host_name"])
    kernels = dict.fromkeys((*old.kernels, *new.kernels))
    _run([word for kernel in kernels for word in ("--name", kernel.name)] + kept)
