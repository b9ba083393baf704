"""Karatsuba: three products, with precomputed key halves and deferred recombination.

    A0·B1 + A1·B0 = (A0 + A1)·(B0 + B1) + A0·B0 + A1·B1

B0 + B1 is precomputed (S); A0 + A1 costs a half swap and an xor for every block. M, H and L are
summed over the group and combined once (papers/intel-2010, "Deferred Recombination of Karatsuba
partial products", Figure 4).
"""

from collections.abc import Mapping, Sequence

from ghashgen.algebra.field.bitorder import Order
from ghashgen.algebra.ops.protocol import HI_HI, LO_LO, Ops, V
from ghashgen.algebra.schemes.core import Budget, Multiply, Shape
from ghashgen.algebra.schemes.multiply import schoolbook


def derive(ops: Ops[V], B: V, order: Order) -> tuple[V, ...]:
    """B, and S = (B0 + B1, B0 + B1)."""
    return B, ops.xor(B, ops.swap64(B, "(B1, B0)"), "S = B0 + B1")


def prepare(ops: Ops[V], A: V, entries: Sequence[V], order: Order) -> Sequence[V]:
    """A, and A0 + A1 in both halves."""
    return A, ops.xor(ops.swap64(A, "(A1, A0)"), A, "A0 + A1")


def multiply(
    ops: Ops[V], operands: Sequence[V], entries: Sequence[V], order: Order
) -> Sequence[tuple[str, V]]:
    """Three products into LO, MI, HI."""
    A, folded = operands
    B, S = entries
    return (
        ("HI", ops.clmul(A, B, HI_HI, "A1·B1")),
        ("LO", ops.clmul(A, B, LO_LO, "A0·B0")),
        ("MI", ops.clmul(folded, S, LO_LO, "(A0 + A1)·(B0 + B1)")),
    )


def products(ops: Ops[V], A: V, entries: Sequence[V], order: Order) -> Sequence[tuple[str, V]]:
    """Three products of A and of A0 + A1."""
    return multiply(ops, prepare(ops, A, entries, order), entries, order)


def recombine(ops: Ops[V], acc: Mapping[str, V], order: Order) -> tuple[V, V]:
    """MI += LO + HI, then as schoolbook."""
    MI = ops.xor(acc["MI"], acc["LO"], "MI += LO")
    MI = ops.xor(MI, acc["HI"], "MI += HI: Σ A0·B1 + A1·B0")
    return schoolbook.recombine(ops, {**acc, "MI": MI}, order)


SCHEME = Multiply(
    name="karatsuba",
    title="three products, deferred recombination, 256-bit result",
    claim="lo + hi·x^128 = A·B",
    source="papers/intel-2010, Figures 2 and 4",
    shape=Shape.WIDE,
    entries=("B", "S"),
    accumulators=("LO", "MI", "HI"),
    derive=derive,
    products=products,
    recombine=recombine,
    operands=("A", "A0 + A1"),
    prepare=prepare,
    multiply=multiply,
    budget=Budget(block={"clmul": 3, "shuffle": 1, "xor": 1}, group={"shuffle": 2, "xor": 4}),
)
