"""Schoolbook with a product folded once: LO joins the middle products, not they it.

    lo + hi·x^64 ≡ (A0·B0 folded by x^64) + A0·B1 + A1·B0 + A1·B1·x^64      (reflected)

So the middle products are not split, which saves two shifts and two sums of a group.
"""

from collections.abc import Mapping

from ghashgen.algebra.field.bitorder import Order
from ghashgen.algebra.ops.protocol import Ops, V
from ghashgen.algebra.schemes.core import Budget, Multiply, Shape
from ghashgen.algebra.schemes.fold import fold_onto
from ghashgen.algebra.schemes.multiply import schoolbook


def recombine(ops: Ops[V], acc: Mapping[str, V], order: Order) -> tuple[V, V]:
    """(fold(LO) + MI, HI), or (LO, fold(HI) + MI) in natural order."""
    if order is Order.REFLECTED:
        return fold_onto(ops, acc["LO"], acc["MI"], order, "LO", "MI"), acc["HI"]
    return acc["LO"], fold_onto(ops, acc["HI"], acc["MI"], order, "HI", "MI")


SCHEME = Multiply(
    name="middle",
    title="four products, 192-bit result",
    claim="lo + hi·x^64 ≡ A·B mod P",
    source="schoolbook, with one fold of clmul2",
    shape=Shape.FOLDED,
    entries=("B",),
    accumulators=("LO", "MI", "HI"),
    derive=schoolbook.derive,
    products=schoolbook.products,
    recombine=recombine,
    budget=Budget(block={"clmul": 4}, group={"clmul": 1, "shuffle": 1, "xor": 2}),
    listed=False,
)
