"""ghashgen generate: emit kernels."""

from pathlib import Path

import click

from ghashgen import generate as generator
from ghashgen.artefact import sha256
from ghashgen.catalogue import Choice, catalogue, choose
from ghashgen.chosen import load
from ghashgen.commands.options import (
    choice_options,
    default_out,
    json_option,
    print_json,
    progress,
    target_options,
)
from ghashgen.dispatch_chosen import NAMES
from ghashgen.errors import GhashgenError
from ghashgen.manifest import NAME
from ghashgen.placement import place
from ghashgen.render import render
from ghashgen.target import Target, target
from ghashgen.toolchain import find_nasm


@click.command("generate")
@choice_options
@target_options
@click.option("--format", "fmt", default="", help="elf64, win64 or macho64; default by --abi.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder; - prints one kernel.")
@click.option(
    "--chosen",
    "chosen_file",
    type=click.Path(path_type=Path),
    help="Only the kernels of this chosen set (ghashgen tune), and a dispatcher by length.",
)
@click.option("--force", is_flag=True, help="Overwrite files that were edited by hand.")
@click.option("--check", "only_check", is_flag=True, help="Regenerate and compare; write nothing.")
@json_option
def COMMAND(
    choice: Choice,
    abi: str,
    prefix: str,
    fmt: str,
    out: Path | None,
    chosen_file: Path | None,
    force: bool,
    only_check: bool,
    as_json: bool,
) -> None:
    """Emit kernels as assembly, with a header and MANIFEST.json; without filters, the catalogue."""
    where = target(abi, fmt, prefix)
    if chosen_file is not None:
        _chosen(chosen_file, where, out, choice, force, only_check, as_json)
        return
    kernels = choose(choice)
    if str(out) == "-":
        if len(kernels) != 1:
            raise GhashgenError(f"{len(kernels)} kernels chosen for --out -", "choose one")
        click.echo(place(render(kernels[0], where), find_nasm()).listing.text, nl=False)
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
            kernels, where, folder, whole=whole, force=force, on_done=advance
        )
    if as_json:
        print_json({"out": str(folder), "files": sorted(output.files), "removed": output.stale})
    else:
        click.echo(f"{len(kernels)} kernels, {prefix}{generator.HEADER} and {NAME} in {folder}")


def _chosen(
    path: Path,
    where: Target,
    out: Path | None,
    choice: Choice,
    force: bool,
    only_check: bool,
    as_json: bool,
) -> None:
    """Emit a chosen set into a folder of its own."""
    if out is None or str(out) == "-" or out.resolve() == default_out().resolve():
        raise GhashgenError("a chosen set goes to a folder of its own", "give --out FOLDER")
    if where.prefix:
        raise GhashgenError("the dispatcher of a chosen set takes no --prefix", "leave it out")
    if choice != Choice() or only_check:
        raise GhashgenError(
            "--chosen names the kernels already, and takes no choice by axes and no --check",
            "leave them out",
        )
    found = load(path)
    with progress("generate", len(found.kernels)) as advance:
        output = generator.generate(
            found.kernels, where, out, whole=True, force=force, on_done=advance, chosen=found
        )
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
    click.echo(f"{len(found.kernels)} kernels, {', '.join(NAMES)} and {NAME} in {out}")
    for name in stale:
        click.echo(f"{name}: its code is not what was chosen; run ghashgen tune again", err=True)


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
            f"{folder} differs from what this version emits in {len(lines)} files",
            "run ghashgen generate (--force where a file was edited by hand)",
        )
    if not as_json:
        click.echo(f"{folder} is what this version emits")
