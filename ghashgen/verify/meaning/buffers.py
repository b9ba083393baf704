"""The buffers of a function: what they hold at the entry, and what is left at the return."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.ops.forms import Form
from ghashgen.verify.core.numbers import Number
from ghashgen.verify.core.refutation import unsupported
from ghashgen.verify.core.term import Lane
from ghashgen.verify.core.terms import Terms
from ghashgen.verify.machine.memory import Memory
from ghashgen.verify.machine.regions import Access
from ghashgen.verify.meaning.algebra import Sum
from ghashgen.verify.meaning.hashing import Blocks, content
from ghashgen.verify.meaning.names import Names

NUMBER_BYTES = 8
"""Bytes of a number in memory."""

Content = Callable[[Memory, Number], Lane | None]


@dataclass(frozen=True)
class Buffer:
    """A parameter that points to bytes: how many, or which number says how many."""

    access: Access
    size: int | str
    content: Content
    align: int = 1
    begins: str = ""
    """The number that is the place of its first byte, if that is not 0."""
    over: str = ""
    """The buffer that may be this one."""


def holding(lanes: Sequence[Lane | None]) -> Content:
    """Return what a buffer of these lanes holds, and None behind them."""

    def held(memory: Memory, at: Number) -> Lane | None:
        if not isinstance(at, int):
            raise unsupported("16 bytes at an unknown place of a buffer")
        index = at // BLOCK_BYTES
        return lanes[index] if 0 <= index < len(lanes) else None

    return held


def turned(terms: Terms, lane: Lane, reverses: bool) -> Lane:
    """Return 16 bytes, reversed if that is so."""
    return terms.bytes(lane, (*range(BLOCK_BYTES - 1, -1, -1),)) if reverses else lane


def reading(names: Names, blocks: Blocks, size: str, begins: str = "") -> Buffer:
    """Return a buffer of blocks that have names."""
    return Buffer(
        Access.READ, size, lambda memory, at: content(names, blocks, memory, at), begins=begins
    )


@dataclass(frozen=True)
class Left:
    """What is in a place of a buffer at the return."""

    buffer: str
    at: int
    what: str
    wanted: Form | Number | Sum
    """16 bytes as they stand in memory; a number of 8 bytes; or 16 bytes that are a register, as a
    sum of values times powers of H."""
    plus: Callable[[], Form] = lambda: Form(128)
    """Returns what is added to such a sum, as it stands in memory."""
    reverses: bool = False
    """Whether the bytes are reversed in memory."""


@dataclass(frozen=True)
class End:
    """What a function leaves, beside its output."""

    status: int | None = None
    """What it returns."""
    left: Iterable[Left] = ()
    """What is in its buffers; they are asked one after the other."""
    only: str = ""
    """A buffer of which nothing else is written."""
    untouched: bool = False
    """Whether nothing is written at all."""
