"""An object, by its statement, as something that can be called.

A statement names the operation of each function. `Function.statement` maps it to this project's
function with the same meaning, whose name and parameters are used.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ghashgen.algebra.field import aes
from ghashgen.algebra.field.bitorder import BLOCK_BYTES, Order
from ghashgen.algebra.field.ghash import ZERO_BLOCK
from ghashgen.check.sampled.cells import FREE, Cell
from ghashgen.check.validation import hashes
from ghashgen.kernels.core import Function
from ghashgen.kernels.families import families
from ghashgen.kernels.gcm.kernel import ANY_TAG, STANDARD_TAGS
from ghashgen.run.callee import Exported
from ghashgen.support.errors import GhashgenError
from ghashgen.verify.meaning.algebra import ROUND_KEY
from ghashgen.verify.statements.gcm import GcmSpec
from ghashgen.verify.statements.hash import KernelSpec

GARBAGE = b"\xa5"
"""Fills table bytes about which nothing is stated."""

Statement = KernelSpec | GcmSpec


@dataclass(frozen=True)
class Stated:
    """An object with its statement."""

    name: str
    obj: Path
    abi: str
    table_bytes: int
    table_align: int
    blocks: int
    key_bytes: int
    op: str
    order: Order
    cells: tuple[Cell, ...]
    """The table's cells for a hash; unstated where there are round keys."""
    round_keys: Mapping[int, int]
    """The cells that hold round keys, each with its round."""
    exported: Mapping[str, Exported]
    untouched: bool = False
    """Whether `open` leaves its output alone if the tag is wrong."""
    tags: Sequence[int] = STANDARD_TAGS
    """Bytes of the tags that it compares."""

    def table(self, key: bytes) -> bytes:
        """Return a key's table, as stated."""
        h = aes.cipher(key, ZERO_BLOCK) if self.key_bytes else key
        held = dict(enumerate(hashes.table(self.cells, self.order, self.op, h)))
        rounds = b"".join(aes.key_expansion(key)) if self.key_bytes else b""
        for cell, number in self.round_keys.items():
            held[cell] = rounds[BLOCK_BYTES * number : BLOCK_BYTES * (number + 1)]
        made = b"".join(held[k] or GARBAGE * BLOCK_BYTES for k in range(len(self.cells)))
        return made.ljust(self.table_bytes, GARBAGE)


def stated(statement: object, obj: Path) -> Stated:
    """Return the object of a statement.

    Raises:
        GhashgenError: nothing here can run its family.
    """
    if not isinstance(statement, Statement):
        raise GhashgenError("nothing runs objects of this family")
    cipher = isinstance(statement, GcmSpec)
    ours = _by_operation("gcm" if cipher else "hash")
    return Stated(
        name="stranger",
        obj=obj,
        abi=statement.abi,
        table_bytes=max(statement.table_bytes, 1),
        table_align=statement.table_align,
        blocks=statement.blocks,
        key_bytes=statement.key_bytes if isinstance(statement, GcmSpec) else 0,
        op="ghash" if isinstance(statement, GcmSpec) else statement.op,
        order=statement.order,
        cells=tuple(map(cell_of, statement.cells)),
        round_keys=statement.round_keys if isinstance(statement, GcmSpec) else {},
        exported={
            ours[f.operation].name: Exported(
                ours[f.operation], f.symbol, f.parameters, f.length_unit, f.length_multiple
            )
            for f in statement.functions
        },
        untouched=isinstance(statement, GcmSpec) and statement.untouched,
        tags=ANY_TAG if isinstance(statement, GcmSpec) and statement.any_tag else STANDARD_TAGS,
    )


def cell_of(item: tuple[str, int] | None) -> Cell:
    """Return a statement's cell in the type of `check.sampled`; round keys become unstated
    bytes.
    """
    kind, power = (FREE, 0) if item is None or item[0] == ROUND_KEY else item
    kind, _, step = kind.partition("/")
    return Cell(kind, power, int(step or 1))


def _by_operation(family: str) -> Mapping[str, Function[Any]]:
    functions = families()[family].functions().values()
    return {function.statement: function for function in functions}
