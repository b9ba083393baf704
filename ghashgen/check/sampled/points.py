"""Points with independent powers, and the right results for them, by `ghashgen.algebra.field`.

A point is a state, a message and elements H_1, H_2, … drawn independently: no H_i is a power of
another. The table is made from them (`cells`), so a wrong power at one position is a different
random element and not, for some key, the right one. The right result of `update` follows from how
the kernel groups blocks (`Structure`): n at a time against H_n … H_1. For H_i = H^i that is GHASH.

The formulas of the cells follow MANIFEST.json's description, in the field and not in registers.
harness/points.c computes many points fast; `check` compares the first of a run with this module.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from ghashgen.algebra.field.bitorder import (
    BLOCK_BYTES,
    Order,
    block_from_element,
    byte_reverse,
    element_from_block,
    register_from_element,
    twist,
)
from ghashgen.algebra.field.gf2 import bit_reflect, clmul, mod
from ghashgen.algebra.field.gf128 import P, X, mul, power
from ghashgen.algebra.field.polyval import mulX_GHASH
from ghashgen.support.errors import GhashgenError

ZERO = "0"
FREE = "-"
LINEAR = ("B", "S", "K", "C1", "C2", "H", "N")
"""Kinds of cells that are linear in H_i, in the order of harness/points.h."""

KEY_TERM = "R"
_HALF = 64
_LOW = (1 << _HALF) - 1
_FOLD = power(X, _HALF)


@dataclass(frozen=True)
class Cell:
    """The content of 16 bytes of the table: a kind, a power, and the step of a sum of key terms."""

    kind: str
    power: int = 0
    step: int = 1

    @property
    def degree(self) -> int:
        """Degree of the cell's bits in the powers' bits; unstated bytes are variables too."""
        return {ZERO: 0, KEY_TERM: 2}.get(self.kind, 1)


def cell(text: str) -> Cell:
    """Return the cell that MANIFEST.json writes as "K3", "R16/4", "0" or "-".

    Raises:
        GhashgenError: it is none of these.
    """
    if text in (ZERO, FREE):
        return Cell(text)
    body, _, step = text.partition("/")
    for kind in (*LINEAR, KEY_TERM):
        number = body.removeprefix(kind)
        if number != body and number.isdecimal() and int(number) > 0:
            if step and not (kind == KEY_TERM and step.isdecimal() and int(step) > 0):
                break
            return Cell(kind, int(number), int(step or 1))
    raise GhashgenError(
        f"{text!r} is not a table cell", "write a kind and a power, such as K3, or 0"
    )


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


def _memory(register: int) -> bytes:
    return register.to_bytes(BLOCK_BYTES, "little")


def _halves(H: int, order: Order) -> tuple[int, int, int, int]:
    """Return the register halves (B0, B1, K0, K1) of B and K = B·x^64."""
    B_element = twist(H, order)
    B = register_from_element(B_element, order)
    K = register_from_element(mul(B_element, _FOLD), order)
    return B & _LOW, B >> _HALF, K & _LOW, K >> _HALF


def linear_cell(kind: str, H: int, order: Order, op: str) -> bytes:
    """Return a cell of one of the LINEAR kinds for the element H, as in memory."""
    B0, B1, K0, K1 = _halves(H, order)
    reflected = order is Order.REFLECTED
    match kind:
        case "B":
            register = B0 | B1 << _HALF
        case "S":
            register = (B0 ^ B1) | (B0 ^ B1) << _HALF
        case "K":
            register = K0 | K1 << _HALF
        case "C1":
            register = B0 | K0 << _HALF if reflected else K0 | B0 << _HALF
        case "C2":
            register = B1 | K1 << _HALF if reflected else K1 | B1 << _HALF
        case "H":
            register = register_from_element(H, order)
        case "N":
            return as_memory(block_from_element(H), op)
        case _:
            raise ValueError(f"no linear cell {kind}")
    return _memory(register)


def as_memory(block: bytes, op: str) -> bytes:
    """Return a GHASH block as the operation stores it (RFC 8452, appendix A)."""
    return byte_reverse(block) if op == "polyval" else block


def product_low(y: int, order: Order) -> int:
    """Return what the product y of C1's halves adds to the key term's register."""
    return register_from_element(_product_element(y, order, _HALF, 0), order)


def product_high(y: int, order: Order) -> int:
    """Return what the product y of C2's halves adds to the key term's register."""
    return register_from_element(_product_element(y, order, 0, _HALF), order)


def _product_element(y: int, order: Order, reflected: int, natural: int) -> int:
    """Return the element of a 128-bit product of register halves, times a power of x.

    Natural: bit k is x^k. Reflected: the halves' bit k is x^(63 - k) and the product's is
    x^(126 - k); a register with this product reads x^(127 - k), one factor of x more.
    """
    if order is Order.NATURAL:
        return mod(y << natural, P)
    return mod(bit_reflect(y, 2 * _HALF) << reflected, P)


def key_term(H: int, order: Order) -> int:
    """Return the register of one power's key term."""
    B0, B1, K0, K1 = _halves(H, order)
    return product_low(clmul(B0, K0), order) ^ product_high(clmul(B1, K1), order)


@cache
def images(order: Order, op: str) -> bytes:
    """Return the maps of harness/points.h: images of the unit vectors of 16 bytes in memory.

    The LINEAR kinds map the block of H_i; the last two map the products in the key term.
    """
    units = [_memory(1 << i) for i in range(8 * BLOCK_BYTES)]
    out = [
        linear_cell(kind, element_from_block(unit), order, op) for kind in LINEAR for unit in units
    ]
    for function in (product_low, product_high):
        out += [_memory(function(int.from_bytes(u, "little"), order)) for u in units]
    return b"".join(out)


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
            out.append(_memory(register))
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


__all__ = [
    "Cell",
    "Point",
    "Structure",
    "cell",
    "check",
    "images",
    "linear_cell",
    "seed",
    "table",
    "update",
]
