"""What an AES-CTR kernel claims: a key size, and where the table has its round keys.

`cells[c]` is what stands at byte 16·c of the table: ("key", i) is round key i; None is nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ghashgen.algebra.field.bitorder import Order
from ghashgen.support.errors import require
from ghashgen.verify.statements import hash as hashes
from ghashgen.verify.statements.aes import Cell, Keyed, round_key

OPERATIONS: dict[str, tuple[str, ...]] = {
    "init": ("table", "key"),
    "crypt": ("table", "counter", "input", "output", "length"),
}
"""The operations, each with its parameters in the order of this package's own interface."""


@dataclass(frozen=True)
class CtrFunction(hashes.FunctionSpec):
    """One exported function: what it does, its symbol, its parameters in order."""

    operations: ClassVar[Mapping[str, tuple[str, ...]]] = OPERATIONS


@dataclass(frozen=True, kw_only=True)
class CtrSpec(Keyed):
    """A kernel's statement."""

    operations: ClassVar[Mapping[str, tuple[str, ...]]] = OPERATIONS
    order: ClassVar[Order] = Order.REFLECTED
    """Blocks are read in one order of their bits or the other: nothing depends on it."""


def parse_cell(text: str) -> Cell:
    """Return ("key", 3) for "key3", and None for "-".

    Raises:
        GhashgenError: it is neither.
    """
    cell = round_key(text)
    known = cell is not None or text == "-"
    require(known, f"no table cell {text!r}", "write a round key, such as key3, or -")
    return cell
