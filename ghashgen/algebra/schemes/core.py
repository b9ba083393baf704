"""The types of multiply schemes and reductions, and the shape of products between them.

A is the data operand (state + block), B the key operand in register form: twist(H^i), see
`algebra.field.bitorder`. Halves: A = A1·x^64 + A0.
"""

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ghashgen.algebra.field.bitorder import Order
from ghashgen.algebra.ops.protocol import Ops, V


class Shape(enum.StrEnum):
    """What the two accumulators (lo, hi) of a finished product represent."""

    WIDE = "wide"
    """lo + hi·x^128: the full 256-bit carry-less product."""
    FOLDED = "folded"
    """lo + hi·x^64: 192 bits, one fold away from the result (papers/intel-2023, section 2.2)."""

    @property
    def bits(self) -> int:
        """Width of the register value that (lo, hi) represent."""
        return 256 if self is Shape.WIDE else 192


class EntriesFn(Protocol):
    """Derive one power's table entries from B."""

    def __call__(self, ops: Ops[V], B: V, order: Order) -> tuple[V, ...]:
        """Return the 128-bit entries in table order."""
        ...


class ProductsFn(Protocol):
    """Multiply one block."""

    def __call__(
        self, ops: Ops[V], A: V, entries: Sequence[V], order: Order
    ) -> Sequence[tuple[str, V]]:
        """Return (accumulator name, 128-bit contribution), in the order to emit."""
        ...


class PrepareFn(Protocol):
    """Prepare the operands of a block's products from the block and the key."""

    def __call__(self, ops: Ops[V], A: V, entries: Sequence[V], order: Order) -> Sequence[V]:
        """Return the operands, A among them."""
        ...


class ContributionsFn(Protocol):
    """Multiply prepared operands."""

    def __call__(
        self, ops: Ops[V], operands: Sequence[V], entries: Sequence[V], order: Order
    ) -> Sequence[tuple[str, V]]:
        """Return what `products` returns."""
        ...


class RecombineFn(Protocol):
    """Turn a group's accumulators into (lo, hi)."""

    def __call__(self, ops: Ops[V], acc: Mapping[str, V], order: Order) -> tuple[V, V]:
        """Return (lo, hi) in the scheme's shape."""
        ...


class KeyTermFn(Protocol):
    """The key-only term that `products` adds for one power, to be subtracted."""

    def __call__(self, ops: Ops[V], entries: Sequence[V], order: Order) -> tuple[V, V]:
        """Return (lo, hi) in the scheme's shape."""
        ...


class ReduceFn(Protocol):
    """Reduce (lo, hi) modulo P."""

    def __call__(self, ops: Ops[V], lo: V, hi: V, order: Order) -> V:
        """Return the 128-bit result in register form."""
        ...


@dataclass(frozen=True)
class Budget:
    """Operations that a scheme may use: `block` for every block, `group` once in a group.

    Keys: clmul, xor, shuffle (byte and half moves), shift (bit shifts). Xors that add a
    contribution to an accumulator are excluded: n blocks need one for each contribution, less one
    for each accumulator.
    """

    block: Mapping[str, int] = field(default_factory=dict)
    group: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Multiply:
    """A multiply scheme: B → entries, (A, entries) → products, sums of products → (lo, hi)."""

    name: str
    title: str
    claim: str
    source: str
    shape: Shape
    entries: tuple[str, ...]
    """Names of one power's table entries, 16 bytes each, without the constant R."""
    accumulators: tuple[str, ...]
    derive: EntriesFn
    products: ProductsFn
    recombine: RecombineFn
    budget: Budget
    key_term: KeyTermFn | None = None
    """If present, the table of power i ends with R_i, the reduced sum of the terms of powers
    1..i.
    """
    operands: tuple[str, ...] = ("A",)
    """Names of what `prepare` returns."""
    prepare: PrepareFn | None = None
    """If present, `products` is `multiply` of its result; otherwise a block is its own operand."""
    multiply: ContributionsFn | None = None
    listed: bool = True
    """Whether the catalogue has kernels with it; if not, they are made on demand."""

    def prepared(self, ops: Ops[V], A: V, entries: Sequence[V], order: Order) -> Sequence[V]:
        """Return the operands of a block's products; the previous group may compute them ahead."""
        return (A,) if self.prepare is None else self.prepare(ops, A, entries, order)

    def contributions(
        self, ops: Ops[V], operands: Sequence[V], entries: Sequence[V], order: Order
    ) -> Sequence[tuple[str, V]]:
        """Return `products` of the block with these operands."""
        if self.multiply is None:
            return self.products(ops, operands[0], entries, order)
        return self.multiply(ops, operands, entries, order)


@dataclass(frozen=True)
class Reduce:
    """A reduction of (lo, hi) to 128 bits."""

    name: str
    title: str
    claim: str
    source: str
    shape: Shape
    orders: tuple[Order, ...]
    apply: ReduceFn
    budget: Budget
