"""What AES-GCM kernels claim (`ghashgen.verify.statements.gcm`)."""

from msgspec import Struct

from ghashgen.algebra.field.bitorder import BLOCK_BYTES, Order
from ghashgen.check.claims.core import (
    Claims,
    Emitted,
    FunctionStated,
    functions_emitted,
    functions_stated,
)
from ghashgen.check.claims.hash import order_of
from ghashgen.verify.statements.gcm import GcmFunction, GcmSpec, parse_cell


class GcmFile(Struct, frozen=True, forbid_unknown_fields=True):
    """The keys of a file; see `ghashgen.check.statements`."""

    name: str
    abi: str
    family: str
    key_bits: int
    order: str
    blocks: int
    cells: tuple[str, ...]
    functions: dict[str, FunctionStated]
    table_bytes: int | None = None
    table_align: int = 16
    wipe: bool = False


def stated(file: GcmFile) -> GcmSpec:
    """Return the statement of a file.

    Raises:
        GhashgenError: it is invalid.
    """
    cells = tuple(map(parse_cell, file.cells))
    return GcmSpec(
        name=file.name,
        abi=file.abi,
        key_bits=file.key_bits,
        order=order_of(file.order),
        blocks=file.blocks,
        cells=cells,
        table_bytes=BLOCK_BYTES * len(cells) if file.table_bytes is None else file.table_bytes,
        functions=functions_stated(GcmFunction, file.functions),
        table_align=file.table_align,
        wipe=file.wipe,
    )


def emitted(built: Emitted) -> GcmSpec:
    """Return the statement of a kernel.

    Raises:
        GhashgenError: the prover has no statement for a function that it exports.
    """
    kernel = built.kernel
    return GcmSpec(
        name=kernel.name,
        abi=built.abi,
        key_bits=kernel.key,
        order=Order(kernel.order),
        blocks=kernel.blocks,
        cells=tuple(map(parse_cell, kernel.layout.cells)),
        table_bytes=kernel.layout.size,
        functions=functions_emitted(GcmFunction, kernel, built.symbol),
        table_align=built.table_align,
        wipe=kernel.wipe,
    )


CLAIMS = Claims("gcm", GcmSpec, GcmFile, stated, emitted)
"""What kernels of this family claim."""
