"""What GHASH and POLYVAL kernels claim (`ghashgen.verify.statements.hash`)."""

from msgspec import Struct

from ghashgen.algebra.field.bitorder import BLOCK_BYTES, Order
from ghashgen.check.claims.core import (
    Claims,
    Emitted,
    FunctionStated,
    functions_emitted,
    functions_stated,
)
from ghashgen.support.errors import GhashgenError
from ghashgen.verify.statements.hash import FunctionSpec, KernelSpec, parse_cell, power_major


class HashFile(Struct, frozen=True, forbid_unknown_fields=True):
    """The keys of a file; see `ghashgen.check.statements`."""

    name: str
    abi: str
    order: str
    blocks: int
    functions: dict[str, FunctionStated]
    family: str = "hash"
    cells: tuple[str, ...] | None = None
    entries: tuple[str, ...] | None = None
    table_bytes: int | None = None
    table_align: int = 16
    wipe: bool = False
    op: str = "ghash"


def stated(file: HashFile) -> KernelSpec:
    """Return the statement of a file.

    Raises:
        GhashgenError: it is invalid.
    """
    if (file.cells is None) == (file.entries is None):
        raise GhashgenError(
            "the file needs one of cells and entries", "give either cells or entries"
        )
    if file.cells is not None:
        cells = tuple(map(parse_cell, file.cells))
    else:
        cells = power_major(file.entries or (), file.blocks)
    return KernelSpec(
        name=file.name,
        abi=file.abi,
        order=order_of(file.order),
        blocks=file.blocks,
        cells=cells,
        table_bytes=BLOCK_BYTES * len(cells) if file.table_bytes is None else file.table_bytes,
        functions=functions_stated(FunctionSpec, file.functions),
        table_align=file.table_align,
        wipe=file.wipe,
        op=file.op,
    )


def order_of(text: str) -> Order:
    """Return the bit order of this name.

    Raises:
        GhashgenError: the name is unknown.
    """
    names = [order.value for order in Order]
    if text not in names:
        raise GhashgenError(
            f"order: {text!r} is not one of {', '.join(names)}", "choose one of them"
        )
    return Order(text)


def emitted(built: Emitted) -> KernelSpec:
    """Return the statement of a kernel.

    Raises:
        GhashgenError: the prover has no statement for a function that it exports.
    """
    kernel = built.kernel
    return KernelSpec(
        name=kernel.name,
        abi=built.abi,
        order=Order(kernel.order),
        blocks=kernel.blocks,
        cells=tuple(map(parse_cell, kernel.layout.cells)),
        table_bytes=kernel.layout.size,
        functions=functions_emitted(FunctionSpec, kernel, built.symbol),
        table_align=built.table_align,
        wipe=kernel.wipe,
        op=kernel.op,
    )


CLAIMS = Claims("hash", KernelSpec, HashFile, stated, emitted)
"""What kernels of this family claim."""
