"""What a kernel that this package did not emit claims to be, from a TOML file:

    name = "example"
    abi = "sysv"                 # or "win64"
    order = "reflected"          # or "natural"
    blocks = 4                   # blocks absorbed by one turn of the main loop
    table_bytes = 64
    table_align = 16
    cells = ["B1", "B2", "B3", "B4"]   # or: entries = ["B"], B1 to B`blocks`
    wipe = false
    op = "ghash"                 # or "polyval"
    [functions.update]
    symbol = "example_update"
    parameters = ["table", "state", "input", "length"]
    length_multiple = 1          # 16: whole blocks only
    length_unit = 1              # 16: the length counts blocks

`KernelSpec` checks what it means; here only its form. The prover does not read files.
"""

from pathlib import Path

from msgspec import Struct

from ghashgen.algebra.field.bitorder import BLOCK_BYTES, Order
from ghashgen.support.documents import Document
from ghashgen.support.errors import GhashgenError
from ghashgen.verify.hash.spec import OPERATIONS, FunctionSpec, KernelSpec, parse_cell, power_major


class _Function(Struct, frozen=True, forbid_unknown_fields=True):
    """A function, under its operation's name."""

    symbol: str
    parameters: tuple[str, ...] | None = None
    length_multiple: int = 1
    length_unit: int = 1


class _Statement(Struct, frozen=True, forbid_unknown_fields=True):
    """The file."""

    name: str
    abi: str
    order: str
    blocks: int
    functions: dict[str, _Function]
    cells: tuple[str, ...] | None = None
    entries: tuple[str, ...] | None = None
    table_bytes: int | None = None
    table_align: int = 16
    wipe: bool = False
    op: str = "ghash"


_FILE = Document(_Statement, "is no statement", "see docs/proof.md for an example")


def load_spec(path: Path) -> KernelSpec:
    """Read a statement from a TOML file; the keys are those of the module's example.

    Raises:
        GhashgenError: the file is not TOML, a key is missing, unknown, or has no meaning.
    """
    stated = _FILE.parse(_FILE.content_of(path), str(path), toml=True)
    if (stated.cells is None) == (stated.entries is None):
        raise _FILE.refuse(path, "give either cells or entries")
    if stated.order not in (orders := [order.value for order in Order]):
        raise _FILE.refuse(path, f"order: {stated.order!r} is none of {', '.join(orders)}")
    try:
        cells = (
            tuple(map(parse_cell, stated.cells))
            if stated.cells is not None
            else power_major(stated.entries or (), stated.blocks)
        )
        return KernelSpec(
            name=stated.name,
            abi=stated.abi,
            order=Order(stated.order),
            blocks=stated.blocks,
            cells=cells,
            table_bytes=BLOCK_BYTES * len(cells)
            if stated.table_bytes is None
            else stated.table_bytes,
            functions=tuple(
                _function(operation, body) for operation, body in sorted(stated.functions.items())
            ),
            table_align=stated.table_align,
            wipe=stated.wipe,
            op=stated.op,
        )
    except GhashgenError as refusal:
        raise GhashgenError(f"{path}: {refusal.cause}", refusal.remedy) from None


def _function(operation: str, body: _Function) -> FunctionSpec:
    parameters = OPERATIONS.get(operation, ()) if body.parameters is None else body.parameters
    return FunctionSpec(operation, body.symbol, parameters, body.length_multiple, body.length_unit)
