"""What the cells of a table hold at a random point, computed in the field and not in registers.

LINEAR has one entry for each kind of cell but R. The prover has definitions of its own
(`ghashgen.verify.meaning.cells`), and schemes have theirs (`Multiply.derive`).
"""

from collections.abc import Callable, Mapping
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
from ghashgen.algebra.field.gf128 import P, X, mul
from ghashgen.algebra.field.powers import power
from ghashgen.support.errors import GhashgenError

ZERO = "0"
FREE = "-"
KEY_TERM = "R"
_HALF = 64
_LOW = (1 << _HALF) - 1
_FOLD = power(X, _HALF)


@dataclass(frozen=True)
class Key:
    """An element H, with the register halves of B = twist(H) and of K = B·x^64."""

    H: int
    order: Order
    op: str
    B0: int
    B1: int
    K0: int
    K1: int

    @classmethod
    def of(cls, H: int, order: Order, op: str) -> "Key":
        """Return the key of an element."""
        B_element = twist(H, order)
        B = register_from_element(B_element, order)
        K = register_from_element(mul(B_element, _FOLD), order)
        return cls(H, order, op, B & _LOW, B >> _HALF, K & _LOW, K >> _HALF)

    def pair(self, B: int, K: int) -> int:
        """Return halves of B and K as a register: B is the low one if reflected, else K."""
        return join(B, K) if self.order is Order.REFLECTED else join(K, B)


def join(low: int, high: int) -> int:
    """Return the register of two halves."""
    return low | high << _HALF


LINEAR: Mapping[str, Callable[[Key], int]] = {
    "B": lambda key: join(key.B0, key.B1),
    "S": lambda key: join(key.B0 ^ key.B1, key.B0 ^ key.B1),
    "K": lambda key: join(key.K0, key.K1),
    "C1": lambda key: key.pair(key.B0, key.K0),
    "C2": lambda key: key.pair(key.B1, key.K1),
    "H": lambda key: register_from_element(key.H, key.order),
    "N": lambda key: int.from_bytes(as_memory(block_from_element(key.H), key.op), "little"),
}
"""The kinds of cells that are linear in H_i, each with its register."""


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
        f"random points have no table cell {text!r}",
        f"the kinds are {', '.join((*LINEAR, KEY_TERM))}; LINEAR in "
        "ghashgen/check/sampled/cells.py takes another",
    )


def memory(register: int) -> bytes:
    """Return a register as it is stored."""
    return register.to_bytes(BLOCK_BYTES, "little")


def as_memory(block: bytes, op: str) -> bytes:
    """Return a GHASH block as the operation stores it (RFC 8452, appendix A)."""
    return byte_reverse(block) if op == "polyval" else block


def linear_cell(kind: str, H: int, order: Order, op: str) -> bytes:
    """Return a cell of one of the LINEAR kinds for the element H, as in memory."""
    return memory(LINEAR[kind](Key.of(H, order, op)))


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
    key = Key.of(H, order, "ghash")
    low, high = clmul(key.B0, key.K0), clmul(key.B1, key.K1)
    return product_low(low, order) ^ product_high(high, order)


@cache
def images(order: Order, op: str) -> tuple[bytes, ...]:
    """Return the maps of harness/points.h: images of the unit vectors of 16 bytes in memory.

    The first four serve the key term; the LINEAR kinds follow, which map the block of H_i.
    """
    units = [memory(1 << i) for i in range(8 * BLOCK_BYTES)]

    def kind(name: str) -> bytes:
        return b"".join(linear_cell(name, element_from_block(u), order, op) for u in units)

    def product(function: Callable[[int, Order], int]) -> bytes:
        return b"".join(memory(function(int.from_bytes(u, "little"), order)) for u in units)

    term = (kind("C1"), kind("C2"), product(product_low), product(product_high))
    return (*term, *map(kind, LINEAR))
