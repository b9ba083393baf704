"""ghashgen generate: emit kernels."""

from pathlib import Path

import click

from ghashgen.arch.registry import DEFAULT, arches
from ghashgen.choice.candidate import candidates
from ghashgen.choice.chosen import load
from ghashgen.choice.families.registry import questions
from ghashgen.choice.figures import left_out
from ghashgen.cli.verbs.options import (
    choice_options,
    chosen_kernels,
    default_out,
    json_option,
    one_of,
    print_json,
    progress,
    target_options,
)
from ghashgen.kernels import manifest
from ghashgen.kernels.selection import Choice, catalogue
from ghashgen.kernels.target import Target, arch_of, target
from ghashgen.output import generate as generator
from ghashgen.output.artefact import make, sha256
from ghashgen.output.dispatcher import recorded
from ghashgen.support.errors import GhashgenError
from ghashgen.support.toolchain import find_assembler
from ghashgen.support.wording import counted


@click.command("generate")
@choice_options
@target_options
@click.option(
    "--format",
    "fmt",
    default="",
    help="elf64, win64 or macho64; without it --abi decides, and win64 alone means --abi win64.",
    shell_complete=one_of(
        lambda: tuple({name: 0 for arch in arches().values() for name in arch.formats})
    ),
)
@click.option("--out", type=click.Path(path_type=Path), help="Folder; - prints one kernel.")
@click.option(
    "--chosen",
    "chosen_file",
    type=click.Path(path_type=Path),
    help="Only the kernels of this chosen set (ghashgen tune), in its order.",
)
@click.option("--threads", is_flag=True, help="Add a pool of threads for one message (--segments).")
@click.option("--force", is_flag=True, help="Overwrite files that were edited by hand.")
@click.option("--check", "only_check", is_flag=True, help="Regenerate and compare; write nothing.")
@json_option
def COMMAND(
    choice: Choice,
    abi: str,
    prefix: str,
    table_align: int,
    syntax: str,
    backend: str,
    fmt: str,
    out: Path | None,
    chosen_file: Path | None,
    threads: bool,
    force: bool,
    only_check: bool,
    as_json: bool,
) -> None:
    """Emit kernels as assembly, with a header and MANIFEST.json; without filters, the catalogue."""
    if chosen_file is not None:
        where = _target(abi, fmt, prefix, table_align, syntax, backend)
        _chosen(chosen_file, where, out, choice, threads, force, only_check, as_json)
        return
    found = chosen_kernels(choice)
    kernels = found.kernels
    where = _target(abi, fmt, prefix, table_align, syntax, backend, arch_of(kernels))
    if threads and (out is None or str(out) == "-"):
        raise GhashgenError("--threads adds files to a folder of its own", "give --out FOLDER")
    if str(out) == "-":
        if len(kernels) != 1:
            raise GhashgenError(f"{len(kernels)} kernels are chosen for --out -", "choose one")
        assembler = find_assembler(where.syntax.assembler)
        click.echo(make(kernels[0], where, assembler).text, nl=False)
        return
    folder = out or default_out()
    if only_check:
        _compare(where, folder, as_json)
        return
    if out is None:
        _only_the_catalogue(kernels, where)
    whole = out is None and kernels == catalogue()
    with progress("generate", len(kernels)) as advance:
        output = generator.generate(
            kernels, where, folder, whole=whole, force=force, on_done=advance, threads=threads
        )
    _say_left_out(folder)
    if as_json:
        print_json({"out": str(folder), "files": sorted(output.files), "removed": output.stale})
    else:
        count = counted(len(kernels), "kernel")
        if found.made:
            count += f" ({len(found.made)} of them not in the catalogue)"
        click.echo(f"{count}, {_beside(output)} and {manifest.NAME} in {folder}")


def _target(
    abi: str,
    fmt: str,
    prefix: str,
    table_align: int,
    syntax: str,
    backend: str,
    arch: str = DEFAULT,
) -> Target:
    """Return the target; say on standard error what a format without its convention stands for."""
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


def _chosen(
    path: Path,
    where: Target,
    out: Path | None,
    choice: Choice,
    threads: bool,
    force: bool,
    only_check: bool,
    as_json: bool,
) -> None:
    """Emit a chosen set into a folder of its own."""
    if out is None or str(out) == "-" or out.resolve() == default_out().resolve():
        raise GhashgenError("a chosen set goes to a folder of its own", "give --out FOLDER")
    if choice != Choice() or only_check:
        raise GhashgenError(
            "--chosen names the kernels already, and takes no choice by axes and no --check",
            "leave them out",
        )
    found = load(path)
    with progress("generate", len(found.kernels)) as advance:
        output = generator.generate(
            found.kernels,
            where,
            out,
            whole=True,
            force=force,
            on_done=advance,
            chosen=found,
            threads=threads,
        )
    _say_left_out(out)
    codes = {artefact.kernel: sha256(artefact.code) for artefact in output.artefacts}
    stale = sorted(
        {
            pick.kernel.name
            for item in found.sets
            for pick in item.picks
            if codes[pick.kernel] != pick.code_sha256
        }
    )
    if as_json:
        print_json({"out": str(out), "files": sorted(output.files), "changed_since_chosen": stale})
        return
    count = counted(len(found.kernels), "kernel")
    click.echo(f"{count}, {_beside(output)} and {manifest.NAME} in {out}")
    for name in stale:
        click.echo(f"{name}: its code is not what was chosen; run ghashgen tune again", err=True)


def _beside(output: generator.Output) -> str:
    """Name the files that stand beside the kernels' folders, but for the manifest."""
    return ", ".join(sorted(f for f in output.files if "/" not in f and f != manifest.NAME))


def _say_left_out(folder: Path) -> None:
    """Say which figures the dispatcher's order does not rest on, being those of other code."""
    entries = manifest.load(folder).values()
    for family in questions():
        for line in left_out(recorded(family), candidates(entries, family)):
            click.echo(line, err=True)


def _only_the_catalogue(kernels: tuple[object, ...], where: Target) -> None:
    known = set(catalogue())
    for kernel in kernels:
        if kernel not in known or where != target():
            raise GhashgenError(
                f"{getattr(kernel, 'name', kernel)} for this target is not in the checked-in "
                "catalogue",
                "give --out FOLDER, or --out - to print it",
            )


def _compare(where: Target, folder: Path, as_json: bool) -> None:
    with progress("regenerate", len(catalogue())) as advance:
        lines = generator.differences(catalogue(), where, folder, on_done=advance)
    if as_json:
        print_json({"folder": str(folder), "differences": lines})
    for line in lines if not as_json else ():
        click.echo(f"{folder}/{line}", err=True)
    if lines:
        raise GhashgenError(
            f"{folder} differs from what this version emits in {counted(len(lines), 'file')}",
            "run ghashgen generate (--force where a file was edited by hand)",
        )
    if not as_json:
        click.echo(f"{folder} is what this version emits")
