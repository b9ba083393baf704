"""ghashgen generate: emit kernels."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ghashgen.cli.verbs.options import (
    Wanted,
    choice_options,
    chosen_kernels,
    default_out,
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
from ghashgen.kernels import manifest
from ghashgen.kernels.selection import Choice, catalogue
from ghashgen.kernels.target import Target, arch_of, target
from ghashgen.output.artefact import make, sha256
from ghashgen.support.errors import GhashgenError
from ghashgen.support.toolchain import find_assembler
from ghashgen.support.wording import counted

if TYPE_CHECKING:
    from ghashgen.output.generate import Output


@click.command("generate")
@choice_options
@target_options
@format_option
@click.option("--unwind", is_flag=True, help="Add unwind tables to NASM's files (ELF, COFF).")
@click.option("--out", type=click.Path(path_type=Path), help="Output folder; - prints one kernel.")
@click.option(
    "--chosen",
    "chosen_file",
    type=click.Path(path_type=Path),
    help="Emit only the kernels of this chosen set (ghashgen tune), in its order.",
)
@threads_option
@click.option("--force", is_flag=True, help="Overwrite files that were edited by hand.")
@click.option("--check", "only_check", is_flag=True, help="Regenerate and compare; write nothing.")
@json_option
def COMMAND(
    choice: Choice,
    wanted: Wanted,
    fmt: str,
    unwind: bool,
    out: Path | None,
    chosen_file: Path | None,
    threads: bool,
    force: bool,
    only_check: bool,
    as_json: bool,
) -> None:
    """Emit kernels as assembly, with a header and MANIFEST.json; without filters, the catalogue."""
    if chosen_file is not None:
        where = _unwound(emission_target(wanted, fmt), unwind)
        _chosen(chosen_file, where, out, choice, threads, force, only_check, as_json)
        return
    found = chosen_kernels(choice)
    kernels = found.kernels
    where = _unwound(emission_target(wanted, fmt, arch_of(kernels)), unwind)
    if only_check:
        taken = {"--threads": threads, "--force": force, "--out -": str(out) == "-"}
        for option in (option for option, given in taken.items() if given):
            raise GhashgenError(f"--check takes no {option}", "leave it out")
        _compare(choice, where, out or default_out(), as_json)
        return
    if threads and (out is None or str(out) == "-"):
        raise GhashgenError("--threads needs a separate output folder", "give --out FOLDER")
    if str(out) == "-":
        if as_json:
            raise GhashgenError("--out - prints the text of a kernel, not JSON", "leave out --json")
        if len(kernels) != 1:
            raise GhashgenError(
                f"--out - prints one kernel, and you chose {len(kernels)}", "choose one"
            )
        assembler = find_assembler(where.syntax.assembler)
        click.echo(make(kernels[0], where, assembler).text, nl=False)
        return
    folder = out or default_out()
    if out is None:
        _only_the_catalogue(kernels, where)
    whole = out is None and kernels == catalogue()
    # Imported late, here and below: a printed kernel has no dispatcher, so it needs no records.
    from ghashgen.output.generate import generate

    with progress("generate", len(kernels)) as advance:
        output = generate(
            kernels, where, folder, whole=whole, force=force, on_done=advance, threads=threads
        )
    say_left_out(manifest.load(folder).values())
    say_twins(choice, found)
    if as_json:
        print_json({"out": str(folder), "files": sorted(output.files), "removed": output.stale})
    else:
        count = counted(len(kernels), "kernel")
        if found.made:
            some = f"{len(found.made)} of them " if len(found.made) < len(kernels) else ""
            count += f" ({some}not in the catalogue)"
        click.echo(f"{count}, {_beside(output)} and {manifest.NAME} in {folder}")


def _unwound(where: Target, unwind: bool) -> Target:
    """Return the target, with unwind tables if they are wanted."""
    wanted = replace(where, unwind=unwind)
    if unwind and where.syntax.unwinding and wanted.tables is None:
        raise GhashgenError(
            f"{where.syntax.title} cannot write unwind tables for {where.fmt.title}",
            "choose --syntax gas, or leave out --unwind",
        )
    return wanted


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
    """Emit a chosen set into a separate folder."""
    from ghashgen.choice.chosen import load
    from ghashgen.output.generate import generate

    if out is None or str(out) == "-" or out.resolve() == default_out().resolve():
        raise GhashgenError("--chosen needs a separate output folder", "give --out FOLDER")
    if choice != Choice() or only_check:
        raise GhashgenError(
            "--chosen already names the kernels, so it takes no filters and no --check",
            "leave them out",
        )
    found = load(path)
    with progress("generate", len(found.kernels)) as advance:
        output = generate(
            found.kernels,
            where,
            out,
            whole=True,
            force=force,
            on_done=advance,
            chosen=found,
            threads=threads,
        )
    say_left_out(manifest.load(out).values())
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
        click.echo(
            f"{name}: its code has changed since it was chosen; run ghashgen tune again", err=True
        )


def _beside(output: "Output") -> str:
    """Name the files beside the kernels' folders, except the manifest."""
    return ", ".join(sorted(f for f in output.files if "/" not in f and f != manifest.NAME))


def _only_the_catalogue(kernels: tuple[object, ...], where: Target) -> None:
    known = set(catalogue())
    for kernel in kernels:
        if kernel not in known or where != target():
            raise GhashgenError(
                f"the checked-in catalogue lacks {getattr(kernel, 'name', kernel)} for this target",
                "give --out FOLDER, or --out - to print it",
            )


def _compare(choice: Choice, where: Target, folder: Path, as_json: bool) -> None:
    """Compare a folder with the whole catalogue, if it has a manifest."""
    from ghashgen.output.generate import differences

    if choice != Choice():
        raise GhashgenError(
            "--check compares a folder with the whole catalogue, so it takes no filters",
            "leave them out; ghashgen vendor --check checks a folder of chosen kernels",
        )
    if manifest.read(folder) is None:
        raise GhashgenError(
            f"{folder} has no {manifest.NAME} to compare with",
            "write it: ghashgen generate, with the same options and no --check",
        )
    with progress("regenerate", len(catalogue())) as advance:
        lines = differences(catalogue(), where, folder, on_done=advance)
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
