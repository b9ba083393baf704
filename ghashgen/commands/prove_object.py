"""ghashgen prove-object: prove an object file, emitted here or not."""

from pathlib import Path

import click

from ghashgen.abi import ABIS
from ghashgen.catalogue import Choice
from ghashgen.commands.options import (
    choice_options,
    chosen_kernels,
    json_option,
    one_of,
    print_json,
    table_align_option,
)
from ghashgen.errors import GhashgenError
from ghashgen.proofs import statement
from ghashgen.target import Target, runnable
from ghashgen.verify.prove import prove_object
from ghashgen.verify.spec import KernelSpec, load_spec


@click.command("prove-object")
@click.argument("obj", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--spec", type=click.Path(path_type=Path, dir_okay=False), help="TOML statement.")
@click.option("--symbol", default="", help="What the functions' names begin with.")
@click.option(
    "--abi",
    default="sysv",
    show_default=True,
    help="sysv or win64.",
    shell_complete=one_of(lambda: ABIS),
)
@table_align_option
@choice_options
@json_option
def COMMAND(
    obj: Path,
    spec: Path | None,
    symbol: str,
    abi: str,
    table_align: int,
    choice: Choice,
    as_json: bool,
) -> None:
    """Prove FILE.o right from its bytes.

    What it should be is stated by a TOML file (--spec, see docs/proof.md), or by the axes of a
    kernel of this project and --symbol.
    """
    if not obj.is_file():
        raise GhashgenError(f"{obj}: no such file", "assemble it: nasm -f elf64")
    where = runnable(abi, table_align=table_align)
    proof = prove_object(obj, load_spec(spec) if spec else _by_axes(choice, symbol, where))
    if as_json:
        print_json(proof.as_data())
    else:
        click.echo(proof.report())
    if proof.refutation is not None:
        raise GhashgenError(f"{obj} is not proved: {proof.refutation}", "do not use it")


def _by_axes(choice: Choice, symbol: str, where: Target) -> KernelSpec:
    kernels = chosen_kernels(choice).kernels
    if len(kernels) != 1:
        raise GhashgenError(
            f"these axes stand for {len(kernels)} kernels",
            "name one by its axes, or give --spec",
        )
    (kernel,) = kernels
    align = where.table_align_of(kernel)
    return statement(kernel, symbol or kernel.name, where.abi.name, align)
