"""Two folds of the 256-bit product (papers/intel-2023, Tables 5 and 9, step 2: "linear folding").

natural      RES = fold(fold(hi)) + lo
reflected    RES = fold(fold(lo)) + hi
"""

from ghashgen.algebra.field.bitorder import Order
from ghashgen.algebra.ops.protocol import Ops, V
from ghashgen.algebra.schemes.core import Budget, Reduce, Shape
from ghashgen.algebra.schemes.fold import fold, fold_onto


def apply(ops: Ops[V], lo: V, hi: V, order: Order) -> V:
    """Fold the far half of the product twice onto the near one."""
    far, near, name, onto = (
        (lo, hi, "LO", "HI") if order is Order.REFLECTED else (hi, lo, "HI", "LO")
    )
    return fold_onto(ops, fold(ops, far, order, name), near, order, "Y", onto)


SCHEME = Reduce(
    name="clmul2",
    title="two folds with Q",
    claim="RES ≡ lo + hi·x^128 mod P",
    source="papers/intel-2023 Table 9 (reflected), Table 5 (natural)",
    shape=Shape.WIDE,
    orders=(Order.REFLECTED, Order.NATURAL),
    apply=apply,
    budget=Budget(group={"clmul": 2, "shuffle": 2, "xor": 3}),
)
