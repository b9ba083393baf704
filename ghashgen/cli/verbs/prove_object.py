"""ghashgen prove-object: prove any object file, whoever made it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import click

from ghashgen.arch.registry import arches
from ghashgen.check.kept import read
from ghashgen.check.proofs import statement
from ghashgen.check.running import Ran, run
from ghashgen.check.sampled import stranger
from ghashgen.check.sampled.points import Structure
from ghashgen.check.sampled.subject import SAMPLED, Function, Sampled, Subject
from ghashgen.check.stated import cell_of
from ghashgen.check.statements import load_spec
from ghashgen.cli.verbs.options import (
    build_folder,
    choice_options,
    chosen_kernels,
    json_option,
    one_of,
    print_json,
    table_align_option,
)
from ghashgen.kernels.selection import Choice
from ghashgen.kernels.target import Target, runnable
from ghashgen.output.folder import require_writable
from ghashgen.support.errors import GhashgenError
from ghashgen.support.files import require_file, write_whole
from ghashgen.support.wording import counted
from ghashgen.verify.advice import advised
from ghashgen.verify.core.refutation import Category
from ghashgen.verify.difference import explain
from ghashgen.verify.prove import prove_object
from ghashgen.verify.report import proof_data, report
from ghashgen.verify.search.certified import Certified, names_of, text_of
from ghashgen.verify.statements.core import Statement
from ghashgen.verify.statements.hash import KernelSpec

ADVICE = {
    Category.TIMING: "use an instruction from the list instead",
    Category.UNSUPPORTED: "neither proved nor shown wrong",
}
"""What to do with an object that is refused, by the category; else not to use it."""


def _conventions() -> tuple[str, ...]:
    return tuple(name for arch in arches().values() if arch.proved for name in arch.abis)


def _numbers(context: click.Context, option: click.Parameter, text: str | None) -> tuple[int, ...]:
    try:
        sizes = tuple(int(part) for part in text.split(",")) if text else ()
    except ValueError:
        raise GhashgenError(f"{text!r} is not a list of group sizes", "write 8,4,1") from None
    if any(size < 1 for size in sizes) or list(sizes) != sorted(sizes, reverse=True):
        raise GhashgenError(
            f"--groups {text} is not a falling list of block counts",
            "write the largest first, as 8,4,1",
        )
    return sizes


@click.command("prove-object")
@click.argument("obj", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--spec",
    type=click.Path(path_type=Path, dir_okay=False),
    help="TOML file that states what the object should be.",
)
@click.option("--symbol", default="", help="With axes: the common prefix of the functions' names.")
@click.option(
    "--abi",
    default="",
    help="With axes: the calling convention, sysv (the default) or win64.",
    shell_complete=one_of(_conventions),
)
@table_align_option
@click.option(
    "--run/--no-run",
    "run_it",
    default=None,
    help="Also run it and compare with the specification. Default: if it is proved.",
)
@click.option(
    "--groups",
    callback=_numbers,
    help="For random points: its group sizes in blocks, such as 8,4,1. Default: found by trial.",
)
@click.option(
    "--certificates",
    type=click.Path(path_type=Path, dir_okay=False),
    help="JSON file of certificates. The functions that it names are checked by these alone.",
)
@click.option(
    "--save-certificates",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the certificates that were found and accepted to this JSON file.",
)
@choice_options
@json_option
def COMMAND(
    obj: Path,
    spec: Path | None,
    symbol: str,
    abi: str,
    table_align: int,
    run_it: bool | None,
    groups: tuple[int, ...],
    certificates: Path | None,
    save_certificates: Path | None,
    choice: Choice,
    as_json: bool,
) -> None:
    """Prove the object file OBJ correct from its bytes, then run it.

    State what it should be: in a TOML file (--spec, see docs/proof.md), or by the axes of a kernel
    of this project and --symbol.

    A checker decides about each function by a certificate, which you give or a search proposes
    (docs/checker.md).

    The run shares only the specification with the proof (SOUNDNESS.md, section 3). A separate
    process calls every function at many lengths between guard pages, on this CPU or in an
    emulator, and compares with the specification. GHASH and POLYVAL also run at random points with
    independent powers. --no-run skips all of this, and the report says so.
    """
    require_file(obj, "assemble it: nasm -f elf64")
    if spec and (symbol or abi or table_align or choice != Choice()):
        raise GhashgenError(
            "the file of --spec states all, so it takes no axes and no --symbol, --abi or "
            "--table-align",
            "leave them out",
        )
    if save_certificates is not None:
        require_writable(save_certificates.parent, "--save-certificates")
    where = runnable(abi or "sysv", table_align=table_align)
    claimed = load_spec(spec) if spec else _by_axes(choice, symbol, where)
    given = read(certificates, "write them as docs/checker.md says") if certificates else {}
    certified = Certified(given)
    _require_names(given, claimed)
    try:
        proof = prove_object(obj, claimed, certified.search)
    except GhashgenError as refusal:
        told = advised(refusal)
        raise GhashgenError(f"{obj}: {told.cause}", told.remedy) from None
    if save_certificates is not None:
        write_whole(save_certificates, text_of(certified.found))
    explain(proof.refutation)
    if not as_json:
        click.echo(report(proof))
    wanted = proof.refutation is None if run_it is None else run_it
    ran = Ran(not_run="--no-run was given" if run_it is False else "it is not proved")
    found = None
    if wanted:
        ran = run(claimed, obj, build_folder("harness"))
    if not as_json:
        click.echo(ran.text)
    if wanted and not ran.wrong and not ran.not_run and isinstance(claimed, KernelSpec):
        found = _at_random_points(obj, claimed, groups, quiet=as_json)
    if as_json:
        points = found and asdict(found)
        print_json({**proof_data(proof), "run": asdict(ran), "random_points": points})
    wrong = ran.wrong or (found.failures[0] if found is not None and not found.ok else "")
    if wrong:
        proved = "proved, and " if proof.refutation is None else ""
        raise GhashgenError(f"{obj} is {proved}wrong when run: {wrong}", "do not use it")
    if proof.refutation is not None:
        advice = ADVICE.get(proof.refutation.category, "do not use it")
        raise GhashgenError(f"{obj} is not proved: {proof.refutation}", advice)
    if run_it and ran.not_run:
        raise GhashgenError(f"{obj} was not run: {ran.not_run}", "leave out --run")


def _require_names(given: Mapping[str, object], spec: Statement) -> None:
    names = names_of(spec)
    if odd := sorted(given.keys() - names):
        raise GhashgenError(
            f"certificates of {', '.join(odd)}, which the statement does not need",
            f"it needs some of {', '.join(sorted(names)) or 'none'}",
        )


def _at_random_points(
    obj: Path, claimed: KernelSpec, groups: Sequence[int], *, quiet: bool
) -> Sampled | None:
    """Run an object at random points, if these apply to it, and print the result."""
    subject = _subject(obj, claimed)
    if not subject.functions:
        return None
    try:
        found, structure = stranger.run(
            subject, claimed.table_align, build_folder("harness"), groups
        )
    except GhashgenError as refusal:
        # A correct object may group blocks or use powers in a way that no structure describes.
        if groups:
            raise
        click.echo(f"not run at random points: {refusal.cause}", err=quiet)
        return None
    if not quiet:
        click.echo(
            f"run, {found.how}, at random points with independent powers, {structure.text}: "
            f"{counted(found.calls, 'call')}, {'all right' if found.ok else 'wrong'}; a wrong "
            f"function is unseen with probability {found.bound} at most ({found.weakest})"
        )
    return found


def _subject(obj: Path, claimed: KernelSpec) -> Subject:
    """Return what a statement says, in the types of `check.sampled`."""
    return Subject(
        name=claimed.name,
        obj=obj,
        abi=claimed.abi,
        op=claimed.op,
        order=claimed.order,
        structure=Structure(claimed.blocks),
        cells=tuple(map(cell_of, claimed.cells)),
        table_bytes=claimed.table_bytes,
        functions={
            f.operation: Function(f.symbol, f.parameters, f.length_multiple, f.length_unit)
            for f in claimed.functions
            if f.operation in SAMPLED
        },
    )


def _by_axes(choice: Choice, symbol: str, where: Target) -> Statement:
    kernels = chosen_kernels(choice, "claims").kernels
    if len(kernels) != 1:
        raise GhashgenError(
            f"these axes select {len(kernels)} kernels", "select one by its axes, or give --spec"
        )
    (kernel,) = kernels
    align = where.table_align_of(kernel)
    claimed: Statement = statement(kernel, symbol or kernel.name, where.abi.name, align)
    return claimed
