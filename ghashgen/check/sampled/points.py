"""Points with independent powers, and the right results for them, by `ghashgen.algebra.field`.

A point is a state, a message and elements H_1, H_2, … drawn independently: no H_i is a power of
another. The table is made from them (`check.sampled.cells`), so a wrong power at one position is a
different random element and not, for some key, the right one. The right result of `update` follows
from how the kernel groups blocks (`Structure`): n at a time against H_n … H_1. For H_i = H^i that
is GHASH.

harness/points.c computes many points fast; `check` compares the first of a run with this module.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ghashgen.algebra.field.bitorder import (
    BLOCK_BYTES,
    Order,
    block_from_element,
    element_from_block,
)
from ghashgen.algebra.field.gf128 import mul
from ghashgen.algebra.field.polyval import mulX_GHASH
from ghashgen.check.sampled.cells import (
    FREE,
    KEY_TERM,
    LINEAR,
    ZERO,
    Cell,
    as_memory,
    key_term,
    linear_cell,
    memory,
)
from ghashgen.support.errors import GhashgenError


@dataclass(frozen=True)
class Structure:
    """How a message is cut into groups with one reduction each.

    Whole groups of `blocks` come first. The rest is one group if `rest` is empty; otherwise groups
    of these sizes, as many of each as fit, and a partial block alone. Block i of a group of m is
    multiplied by H_(m + 1 - i). With `lanes` above 1, every lane has its own Horner accumulator in
    all whole groups but the last; lane l of a register uses the power of its lane 0 there.
    """

    blocks: int
    lanes: int = 1
    rest: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        """The structure in words."""
        lanes = f", {self.lanes} accumulators" if self.lanes > 1 else ""
        rest = "the rest at once"
        if self.rest:
            rest = f"then {', '.join(map(str, self.rest))}"
        return f"groups of {self.blocks}{lanes}, {rest}"

    @property
    def longest(self) -> int:
        """The largest length to run, in bytes: two groups, a block and a partial block."""
        return (2 * self.blocks + 1) * BLOCK_BYTES + BLOCK_BYTES - 1

    def groups(self, length: int) -> list[int]:
        """Return the block count of each group of a message of `length` bytes."""
        size = BLOCK_BYTES * self.blocks
        out = [self.blocks] * (length // size)
        length %= size
        for rest in self.rest:
            out += [rest] * (length // (BLOCK_BYTES * rest))
            length %= BLOCK_BYTES * rest
        return [*out, -(-length // BLOCK_BYTES)] if length else out

    def degree(self, length: int) -> int:
        """Return the degree of the right result: one for the input plus one for each reduction."""
        return 1 + len(self.groups(length))


@dataclass(frozen=True)
class Point:
    """A point and its right results; powers and results are blocks, as bytes."""

    x: bytes
    y: bytes
    p: bytes
    powers: tuple[bytes, ...]
    """Blocks of H_1, H_2, …, in GHASH's order."""
    data: bytes
    mul: bytes
    combine: bytes
    update: tuple[bytes, ...]
    """Results by length in bytes."""
    tables: tuple[bytes, ...]
    """Tables by kernel of the run."""


def table(cells: Sequence[Cell], powers: Sequence[bytes], order: Order, op: str) -> list[bytes]:
    """Return the cells of a table, b"" for a free one."""
    elements = [element_from_block(block) for block in powers]
    terms: dict[int, int] = {}

    def term(i: int) -> int:
        if i not in terms:
            terms[i] = key_term(elements[i - 1], order)
        return terms[i]

    out = []
    for c in cells:
        if c.kind == KEY_TERM:
            register = 0
            for i in range(c.power, 0, -c.step):
                register ^= term(i)
            out.append(memory(register))
        elif c.kind in LINEAR:
            out.append(linear_cell(c.kind, elements[c.power - 1], order, op))
        else:
            out.append(bytes(BLOCK_BYTES) if c.kind == ZERO else b"")
    return out


def _element(memory: bytes, op: str) -> int:
    return element_from_block(as_memory(memory, op))


def _in_memory(element: int, op: str) -> bytes:
    return as_memory(block_from_element(element), op)


def update(point: Point, structure: Structure, op: str, length: int) -> bytes:
    """Return the state after `length` bytes of the point's message."""
    H = [0, *(element_from_block(block) for block in point.powers)]
    data = point.data[:length] + bytes(-length % BLOCK_BYTES)
    blocks = [_element(data[i : i + BLOCK_BYTES], op) for i in range(0, len(data), BLOCK_BYTES)]
    # One state, or one in each lane with the initial state in the first.
    lanes = [_element(point.x, op), *([0] * (structure.lanes - 1))]
    groups = structure.groups(length)
    whole = length // (BLOCK_BYTES * structure.blocks)
    at = 0
    for number, size in enumerate(groups, 1):
        group = blocks[at : at + size]
        at += size
        if number < whole and structure.lanes > 1:
            lanes = [
                _lane(group[i :: len(lanes)], lanes[i], H, len(lanes)) for i in range(len(lanes))
            ]
            continue
        total = 0
        for i, block in enumerate(group):
            add = lanes[i] if i < len(lanes) else 0
            total ^= mul(block ^ add, H[size - i])
        lanes = [total, *([0] * (len(lanes) - 1))]
    return _in_memory(lanes[0], op)


def _lane(blocks: Sequence[int], state: int, H: Sequence[int], lanes: int) -> int:
    """Return a lane's accumulator after its share of a group of len(blocks)·lanes blocks."""
    total = 0
    for i, block in enumerate(blocks):
        total ^= mul(block ^ (state if i == 0 else 0), H[lanes * (len(blocks) - i)])
    return total


def product(point: Point, op: str) -> bytes:
    """Return the right result of `mul`: x·H_1."""
    return _in_memory(mul(_element(point.x, op), element_from_block(point.powers[0])), op)


def combined(point: Point, op: str) -> bytes:
    """Return the right result of `combine`: x·p + y, with p in the form of a subkey."""
    block = as_memory(point.p, op)
    factor = element_from_block(mulX_GHASH(block) if op == "polyval" else block)
    return _in_memory(mul(_element(point.x, op), factor) ^ _element(point.y, op), op)


def seed(text: str) -> bytes:
    """Return the key of the stream that points are drawn from."""
    return hashlib.sha256(b"ghashgen sampled " + text.encode()).digest()


def check(
    point: Point,
    structure: Structure,
    order: Order,
    op: str,
    tables: Iterable[Sequence[Cell]],
    lengths: Iterable[int],
) -> None:
    """Compare a point of the harness, with its answers and tables, with the field.

    Raises:
        GhashgenError: they differ.
    """
    answers: list[tuple[str, bytes, Callable[[], bytes]]] = [
        ("mul", point.mul, lambda: product(point, op)),
        ("combine", point.combine, lambda: combined(point, op)),
    ]
    for length in lengths:
        expected = update(point, structure, op, length)
        answers.append((f"update of {length} bytes", point.update[length], lambda e=expected: e))  # type: ignore[misc]
    for what, got, expect in answers:
        if got != expect():
            raise _fault(f"{what} at a random point")
    known: dict[Cell, bytes] = {}
    for cells, got in zip(tables, point.tables, strict=True):
        missing = sorted(set(cells) - set(known), key=lambda c: (c.kind, c.power, c.step))
        known.update(zip(missing, table(missing, point.powers, order, op), strict=True))
        for i, c in enumerate(cells):
            if c.kind != FREE and got[BLOCK_BYTES * i : BLOCK_BYTES * (i + 1)] != known[c]:
                raise _fault(f"the cell {c.kind}{c.power} of a random table")


def _fault(what: str) -> GhashgenError:
    return GhashgenError(
        f"harness/points.c and ghashgen.algebra.field disagree on {what}",
        "this is a fault of the harness: nothing was compared with it",
    )
