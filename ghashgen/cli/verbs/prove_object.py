"""ghashgen prove-object: prove an object file, emitted here or not."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from ghashgen.arch.registry import arches
from ghashgen.check.claims.registry import is_known
from ghashgen.check.proofs import statement
from ghashgen.check.sampled.points import FREE, Cell, Structure
from ghashgen.check.sampled.subject import SAMPLED, Function, Sampled, Subject
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
from ghashgen.support.errors import GhashgenError
from ghashgen.support.wording import counted
from ghashgen.verify.engine.family import Statement
from ghashgen.verify.hash.difference import explain
from ghashgen.verify.hash.spec import KernelSpec
from ghashgen.verify.prove import prove_object


def _conventions() -> tuple[str, ...]:
    return tuple(name for arch in arches().values() if arch.proved for name in arch.abis)


def _numbers(context: click.Context, option: click.Parameter, text: str | None) -> tuple[int, ...]:
    try:
        sizes = tuple(int(part) for part in text.split(",")) if text else ()
    except ValueError:
        raise GhashgenError(f"{text!r} is no list of sizes", "write 8,4,1") from None
    if any(size < 1 for size in sizes) or list(sizes) != sorted(sizes, reverse=True):
        raise GhashgenError(f"groups of {text} blocks", "write the largest first, as 8,4,1")
    return sizes


@click.command("prove-object")
@click.argument("obj", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--spec", type=click.Path(path_type=Path, dir_okay=False), help="TOML statement.")
@click.option("--symbol", default="", help="What the functions' names begin with.")
@click.option(
    "--abi",
    default="sysv",
    show_default=True,
    help="sysv or win64.",
    shell_complete=one_of(_conventions),
)
@table_align_option
@click.option(
    "--run", "run_it", is_flag=True, help="Also run it, at random points with independent powers."
)
@click.option("--groups", callback=_numbers, help="For --run: blocks of its groups, as 8,4,1.")
@choice_options
@json_option
def COMMAND(
    obj: Path,
    spec: Path | None,
    symbol: str,
    abi: str,
    table_align: int,
    run_it: bool,
    groups: tuple[int, ...],
    choice: Choice,
    as_json: bool,
) -> None:
    """Prove FILE.o right from its bytes.

    What it should be is stated by a TOML file (--spec, see docs/proof.md), or by the axes of a
    kernel of this project and --symbol. With --run it is executed here too, or emulated, which
    shares nothing with the proof (SOUNDNESS.md, "By running").
    """
    if not obj.is_file():
        raise GhashgenError(f"{obj}: no such file", "assemble it: nasm -f elf64")
    where = runnable(abi, table_align=table_align)
    stated = load_spec(spec) if spec else _by_axes(choice, symbol, where)
    to_run = stated if run_it and isinstance(stated, KernelSpec) else None
    if run_it and to_run is None:
        raise GhashgenError("only GHASH and POLYVAL are run at random points", "leave out --run")
    proof = prove_object(obj, stated)
    explain(proof.refutation)
    if not as_json:
        click.echo(proof.report())
    found = None if to_run is None else _run(obj, to_run, groups, quiet=as_json)
    if as_json:
        print_json({**proof.as_data(), "random_points": found and asdict(found)})
    if found is not None and not found.ok:
        raise GhashgenError(f"{obj} is wrong when run: {found.failures[0]}", "do not use it")
    if proof.refutation is not None:
        advice = proof.refutation.category.advice
        raise GhashgenError(f"{obj} is not proved: {proof.refutation}", advice)


def _run(obj: Path, stated: KernelSpec, groups: Sequence[int], *, quiet: bool) -> Sampled:
    """Run an object at random points, and say what that shows."""
    # Here, so that proving alone asks for no emulator and no C compiler.
    from ghashgen.check.sampled import stranger

    found, structure = stranger.run(
        _subject(obj, stated), stated.table_align, build_folder("harness"), groups
    )
    if not quiet:
        click.echo(
            f"run, {found.how}, at random points with independent powers, {structure.text}: "
            f"{counted(found.calls, 'call')}, {'all right' if found.ok else 'wrong'}; a wrong "
            f"function is unseen with probability {found.bound} at most ({found.weakest})"
        )
    return found


def _subject(obj: Path, stated: KernelSpec) -> Subject:
    """Return what a statement says, as `validation` has it."""
    cells = []
    for item in stated.cells:
        kind, power = item or (FREE, 0)
        kind, _, step = kind.partition("/")
        cells.append(Cell(kind, power, int(step or 1)))
    return Subject(
        name=stated.name,
        obj=obj,
        abi=stated.abi,
        op=stated.op,
        order=stated.order,
        structure=Structure(stated.blocks),
        cells=tuple(cells),
        table_bytes=stated.table_bytes,
        functions={
            f.operation: Function(f.symbol, f.parameters, f.length_multiple, f.length_unit)
            for f in stated.functions
            if f.operation in SAMPLED
        },
    )


def _by_axes(choice: Choice, symbol: str, where: Target) -> Statement:
    kernels = chosen_kernels(choice, is_known).kernels
    if len(kernels) != 1:
        raise GhashgenError(
            f"these axes stand for {len(kernels)} kernels",
            "name one by its axes, or give --spec",
        )
    (kernel,) = kernels
    align = where.table_align_of(kernel)
    stated: Statement = statement(kernel, symbol or kernel.name, where.abi.name, align)
    return stated
