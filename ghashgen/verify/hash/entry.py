"""A function's parameters, the content of its buffers, and what a run has absorbed."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.ops.forms import Form
from ghashgen.verify.core.term import RAW, Lane
from ghashgen.verify.core.values import Affine, UndecidedError
from ghashgen.verify.engine.cut import least
from ghashgen.verify.engine.family import Buffer, Cell, Count, Entry, Parameter
from ghashgen.verify.hash.naming import BLOCK, PARTIAL, Naming, block_name
from ghashgen.verify.machine.regions import Access

if TYPE_CHECKING:
    from ghashgen.verify.hash.spec import FunctionSpec, KernelSpec

STATE, ADDEND = "X", "Y"
"""The variables of the state on entry, and of combine's addend."""

FACTOR = 0
"""B_0 is the key operand of an arbitrary factor: of combine's p, of power's P at the loop."""


@dataclass
class HashEntry(Entry):
    """An entry, and the consumed part of the message."""

    raw: bool = False
    """Whether part of a partial block has been read."""
    weights: dict[str, int] = field(default_factory=lambda: {STATE: 0})
    """States, each with the number of blocks absorbed before it since the last cut."""
    result: Form | None = None
    """The register that power should write, if its exponent does not determine it."""


def parameters(spec: "KernelSpec", function: "FunctionSpec") -> dict[str, Parameter]:
    """Return every parameter's kind; init is the one that writes a table."""
    table = Access.WRITE if function.operation == "init" else Access.READ
    return {
        "table": Buffer(table, spec.table_bytes, spec.table_align),
        "state": Buffer(Access.UPDATE, BLOCK_BYTES),
        "input": Buffer(Access.READ, "length"),
        "length": Count(function.length_unit),
        "subkey": Buffer(Access.READ, BLOCK_BYTES),
        "addend": Buffer(Access.READ, BLOCK_BYTES),
        "factor": Buffer(Access.READ, BLOCK_BYTES),
        "result": Buffer(Access.WRITE, BLOCK_BYTES),
        "exponent": Count(),
    }


def cells(spec: "KernelSpec", naming: Naming) -> dict[str, Cell[HashEntry]]:
    """Return what each buffer holds on entry."""
    terms, memory = naming.terms, naming.algebra.memory

    def one(lane: Lane) -> Cell[HashEntry]:
        return lambda entry, index: lane

    table: tuple[Lane | None, ...] = tuple(
        None if cell is None else terms.entry(*cell) if cell[1] else 0 for cell in spec.cells
    )
    return {
        "table": lambda entry, index: table[index] if index < len(table) else None,
        "state": one(terms.moves(terms.variable(STATE), memory)),
        "input": lambda entry, index: data_cell(entry, naming, index),
        "subkey": one(terms.entry("subkey", 1)),
        "addend": one(terms.moves(terms.variable(ADDEND), memory)),
        "factor": one(terms.entry("subkey", FACTOR)),
        "result": lambda entry, index: None,
    }


def data_cell(
    entry: HashEntry,
    naming: Naming,
    index: int,
    number: str = "length",
    letter: str = BLOCK,
    partial: str = PARTIAL,
) -> Lane | None:
    """Return block `index` + 1 of the input in memory order.

    Raises:
        UndecidedError: the block is whole for some of the lengths and partial for others.
    """
    length = entry.numbers[number]
    terms = naming.terms
    if BLOCK_BYTES * (index + 1) <= least(length):
        return naming.in_memory(block_name(index + 1, letter))
    if isinstance(length, Affine):
        raise UndecidedError("bytes of a block that is the last one for some lengths only")
    entry.raw = True
    return terms.moves(terms.variable(partial, RAW), naming.algebra.memory)
