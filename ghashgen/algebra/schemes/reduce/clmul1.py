"""One fold, which is all that K leaves to do (papers/intel-2023, Tables 8 and 10, step 2).

natural      RES = hi1·Q + hi0·x^64 + lo = fold(hi) + lo
reflected    RES = lo0·Q' + swap64(lo) + hi = fold(lo) + hi
"""

from ghashgen.algebra.field.bitorder import Order
from ghashgen.algebra.ops.protocol import Ops, V
from ghashgen.algebra.schemes.core import Budget, Reduce, Shape
from ghashgen.algebra.schemes.fold import fold_onto


def apply(ops: Ops[V], lo: V, hi: V, order: Order) -> V:
    """Fold the far accumulator onto the near one."""
    if order is Order.REFLECTED:
        return fold_onto(ops, lo, hi, order, "LO", "HI")
    return fold_onto(ops, hi, lo, order, "HI", "LO")


SCHEME = Reduce(
    name="clmul1",
    title="one fold with Q",
    claim="RES ≡ lo + hi·x^64 mod P",
    source="papers/intel-2023 Table 10 (reflected), Table 8 (natural)",
    shape=Shape.FOLDED,
    orders=(Order.REFLECTED, Order.NATURAL),
    apply=apply,
    budget=Budget(group={"clmul": 1, "shuffle": 1, "xor": 2}),
)
