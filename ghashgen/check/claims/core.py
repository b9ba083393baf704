"""The type of a family's claims, from which statements for the prover are made."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from msgspec import Struct

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.kernels.core import Point
from ghashgen.kernels.families import functions_of
from ghashgen.support.errors import GhashgenError
from ghashgen.verify.statements.core import Statement
from ghashgen.verify.statements.hash import FunctionSpec

S = TypeVar("S", bound=Statement)
F = TypeVar("F", bound=FunctionSpec)


class FunctionStated(Struct, frozen=True, forbid_unknown_fields=True):
    """A function in a file, listed under its operation's name."""

    symbol: str
    parameters: tuple[str, ...] | None = None
    length_multiple: int = 1
    length_unit: int = 1


class StatedFile(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The keys that the files of every family have; see `ghashgen.check.statements`."""

    name: str
    abi: str
    blocks: int
    functions: dict[str, FunctionStated]
    table_bytes: int | None = None
    table_align: int = 16
    wipe: bool = False


@dataclass(frozen=True)
class Emitted:
    """A kernel as emitted; `symbol` begins the names of its functions."""

    kernel: Any
    symbol: str
    abi: str
    table_align: int


@dataclass(frozen=True)
class Claims(Generic[S]):
    """What kernels of a family claim."""

    family: str
    """The family's name, also in files: `family = "gcm"`."""
    kind: type[S]
    """The type of a statement."""
    file: type[Struct]
    """The keys of a file."""
    stated: Callable[[Any], S]
    """(content of a file) → the statement. Raises GhashgenError if it is invalid."""
    emitted: Callable[[Emitted], S]
    """(emitted kernel) → the statement."""


Cells = tuple[tuple[str, int] | None, ...]


def of_file(kind: type[FunctionSpec], file: StatedFile, cells: Cells) -> dict[str, Any]:
    """Return what the statement of a file has in every family.

    Raises:
        GhashgenError: an operation is unknown, or a parameter is wrong.
    """
    stated = {
        "name": file.name,
        "abi": file.abi,
        "blocks": file.blocks,
        "cells": cells,
        "table_bytes": BLOCK_BYTES * len(cells) if file.table_bytes is None else file.table_bytes,
        "functions": functions_stated(kind, file.functions),
        "table_align": file.table_align,
        "wipe": file.wipe,
    }
    _check(stated)
    return stated


ABIS = ("sysv", "win64")


def _check(stated: Mapping[str, Any]) -> None:
    """Check what a file says of its table, of its group and of its convention.

    The prover would take it as it is: each access to the table is checked all the same.

    Raises:
        GhashgenError: it makes no sense.
    """
    if stated["abi"] not in ABIS:
        raise GhashgenError(f"no ABI {stated['abi']!r}", f"ABIs are {', '.join(ABIS)}")
    if stated["blocks"] < 1:
        raise GhashgenError(f"{stated['blocks']} blocks per group", "a group has 1 block or more")
    if BLOCK_BYTES * len(stated["cells"]) > stated["table_bytes"]:
        raise GhashgenError(
            f"{len(stated['cells'])} cells do not fit in {stated['table_bytes']} bytes",
            "set table_bytes to 16 times the cells, or more",
        )
    if stated["table_align"] < 1 or stated["table_align"] & stated["table_align"] - 1:
        raise GhashgenError(
            f"a table alignment of {stated['table_align']} bytes", "alignments are powers of two"
        )


def of_kernel(
    kind: type[FunctionSpec], built: Emitted, cell: Callable[[str], tuple[str, int] | None]
) -> dict[str, Any]:
    """Return what the statement of a kernel has in every family; `cell` reads a cell's name.

    Raises:
        GhashgenError: the prover has no statement for a function that it exports.
    """
    kernel = built.kernel
    return {
        "name": kernel.name,
        "abi": built.abi,
        "blocks": kernel.blocks,
        "cells": tuple(map(cell, kernel.layout.cells)),
        "table_bytes": kernel.layout.size,
        "functions": functions_emitted(kind, kernel, built.symbol),
        "table_align": built.table_align,
        "wipe": kernel.wipe,
    }


def functions_stated(kind: type[F], functions: Mapping[str, FunctionStated]) -> tuple[F, ...]:
    """Return the functions of a file, in the order of their operations' names.

    Raises:
        GhashgenError: an operation is unknown, or a parameter is wrong.
    """
    out = []
    for operation, body in sorted(functions.items()):
        values = {name: getattr(body, name) for name in body.__struct_fields__}
        if body.parameters is None:
            values["parameters"] = kind.operations.get(operation, ())
        out.append(kind(operation, **values))
    return tuple(out)


def functions_emitted(kind: type[F], kernel: Point, symbol: str) -> tuple[F, ...]:
    """Return the functions of a kernel; there is no proof of a kernel without all of them.

    Raises:
        GhashgenError: there is one that the prover has no statement for.
    """
    out = []
    for function in functions_of(kernel).values():
        if function.statement not in kind.operations:
            raise GhashgenError(
                f"{kernel.name}_{function.name} has no statement that the prover knows",
                f"the prover knows {', '.join(kind.operations)}",
            )
        names = (function.statement, function.symbol_in(symbol), function.roles)
        out.append(kind(*names, length_multiple=function.length_multiple(kernel)))
    return tuple(out)
