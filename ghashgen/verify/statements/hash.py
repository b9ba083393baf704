"""What a kernel claims: the statement that `prove_object` sets out to establish.

A spec names the functions in an object file and their parameters, the bit order of registers, and
the key material in each 16-byte cell of the table. It can describe kernels that this package did
not emit: `ghashgen.check.statements` reads it from a file.

`ghashgen.verify.meaning.algebra` defines the kinds of cell.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from ghashgen.algebra.field.bitorder import BLOCK_BYTES, Order
from ghashgen.support.errors import GhashgenError, require
from ghashgen.verify.meaning import hash
from ghashgen.verify.meaning.algebra import KINDS, ZERO
from ghashgen.verify.meaning.function import Function

OPERATIONS: dict[str, tuple[str, ...]] = {
    "init": ("table", "subkey"),
    "mul": ("table", "state"),
    "update": ("table", "state", "input", "length"),
    "column": ("table", "state", "input", "length"),
    "power": ("table", "result", "exponent"),
    "combine": ("state", "addend", "factor"),
}
"""The operations, each with its parameters in the order of this package's own interface.
`ghashgen.verify.meaning.hash` says what they mean.
"""

ROWS = tuple(BLOCK_BYTES << i for i in range(1, 4))
"""Valid sizes in bytes of a column's row."""

OPS = ("ghash", "polyval")
"""SP 800-38D, or RFC 8452."""


@dataclass(frozen=True)
class FunctionSpec:
    """One exported function: what it does, its symbol, its parameters in order.

    Lengths are multiples of `length_multiple` bytes, passed in units of `length_unit` bytes. For a
    column, that is a row of the message.
    """

    operations: ClassVar[Mapping[str, tuple[str, ...]]] = OPERATIONS
    """The operations of its family."""

    operation: str
    symbol: str
    parameters: tuple[str, ...]
    length_multiple: int = 1
    length_unit: int = 1

    def __post_init__(self) -> None:
        wanted, what = self.operations.get(self.operation, ()), f"no operation {self.operation!r}"
        require(wanted, what, f"operations are {', '.join(self.operations)}")
        given = f"{self.symbol}: parameters {', '.join(self.parameters)}"
        names = f"{self.operation} has exactly {', '.join(wanted)}, in any order"
        require(sorted(wanted) == sorted(self.parameters), given, names)
        rows = ROWS if self.operation == "column" else (1, BLOCK_BYTES)
        multiple, unit = self.length_multiple, self.length_unit
        given = f"{self.symbol}: length_multiple {multiple}, length_unit {unit}"
        sizes = f"length_multiple = {' or '.join(map(str, rows))}, length_unit = 1 or {BLOCK_BYTES}"
        sized = multiple in rows and unit in (1, BLOCK_BYTES)
        require(sized, given, f"{self.operation}: {sizes}")
        given = f"{self.symbol}: length_multiple or length_unit, and no parameter length"
        counted = "length" in self.parameters or (multiple, unit) == (1, 1)
        require(counted, given, f"leave them out for {self.operation}")
        given = f"{self.symbol}: a length in blocks cannot express single bytes"
        require(unit <= multiple, given, "set length_multiple = 16 too")


def check_cells(cells: Iterable[tuple[str, int] | None]) -> None:
    """Check what a table is said to hold of the powers of H.

    Raises:
        GhashgenError: there is no such cell.
    """
    for cell in cells:
        if cell is not None and cell != (ZERO, 0):
            kind, power = cell
            known = kind.partition("/")[0] in KINDS and power >= 1
            require(known, f"no table entry {kind}{power}", f"kinds are {', '.join(KINDS)}")


@dataclass(frozen=True)
class KernelSpec:
    """A kernel's statement: functions, calling convention, bit order, table.

    `cells[c]` is the kind and the power of H at byte 16·c of the table (`parse_cell`), None if the
    table holds nothing there. `table_align` is the alignment in bytes that the caller guarantees.
    """

    name: str
    abi: str
    order: Order
    blocks: int
    cells: tuple[tuple[str, int] | None, ...]
    table_bytes: int
    functions: tuple[FunctionSpec, ...]
    table_align: int = 16
    wipe: bool = False
    op: str = "ghash"

    def __post_init__(self) -> None:
        require(self.op in OPS, f"no op {self.op!r}", f"ops are {', '.join(OPS)}")
        check_cells(self.cells)
        said = any(self.cells) or all(f.operation != "init" for f in self.functions)
        nothing = f"{self.name}: init, but the statement says nothing of the table"
        require(said, nothing, "name what its cells hold")

    def meaning(self, function: FunctionSpec) -> Function:
        """Return what one of the functions means.

        Raises:
            Refutation: it has no meaning here.
        """
        return hash.meaning_of(self, function)


def parse_cell(text: str) -> tuple[str, int] | None:
    """Return ("K", 3) for "K3", ("R/4", 16) for "R16/4", ("0", 0) for "0" and None for "-".

    Raises:
        GhashgenError: it is none of these.
    """
    if text == "-":
        return None
    if text == ZERO:
        return ZERO, 0
    match = re.fullmatch(rf"({'|'.join(KINDS)})([1-9]\d*)(/[1-9]\d*)?", text)
    if match is None or (match[3] and match[1] != "R"):
        raise GhashgenError(
            f"no table cell {text!r}",
            "write a kind and a power, such as K3, or 0, or -; the prover's kinds are "
            f"{', '.join(KINDS)}, and CELLS in ghashgen/verify/meaning/algebra.py takes another",
        )
    return match[1] + (match[3] or ""), int(match[2])
