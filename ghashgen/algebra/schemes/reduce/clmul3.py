"""Three products by P's tail: the baseline column of papers/intel-2023, Table 11. Reflected only.

The two folds of `clmul2` amount to (lo + (lo0·Q')·x^64)·(x^64 + Q') / x^64. The 65-bit factor
x^64 + Q' = 0x1C2000000·x^32 does not fit a 64-bit half. So it is kept without its 32 low zeros, and
the two products by it are shifted into place by 4 bytes, one right and one left.
"""

from ghashgen.algebra.field.bitorder import Order
from ghashgen.algebra.ops.protocol import HI_LO, LO_HI, LO_LO, Ops, V
from ghashgen.algebra.schemes.core import Budget, Reduce, Shape
from ghashgen.algebra.schemes.fold import Q_REFLECTED

TAIL = Q_REFLECTED << 64 | (1 << 64 | Q_REFLECTED) >> 32
"""High half Q' = 0xC200000000000000; low half 0x1C2000000 = (x^64 + Q')·x^-32."""


def apply(ops: Ops[V], lo: V, hi: V, order: Order) -> V:
    """Two phases: complete lo, then multiply it by x^64 + Q'."""
    P = ops.const(TAIL, "fold_p")
    first = ops.shl_bytes(ops.clmul(P, lo, HI_LO, "Q'·LO0"), 8, "(Q'·LO0)·x^64")
    LO = ops.xor(lo, first, "LO += (Q'·LO0)·x^64")
    low = ops.shr_bytes(ops.clmul(P, LO, LO_LO, "(x^64 + Q')·LO0"), 4, "into place")
    high = ops.shl_bytes(ops.clmul(P, LO, LO_HI, "(x^64 + Q')·LO1"), 4, "into place")
    return ops.xor(ops.xor(high, low, "(x^64 + Q')·LO"), hi, "RES")


SCHEME = Reduce(
    name="clmul3",
    title="three products by P's tail, the Table 11 baseline",
    claim="RES ≡ lo + hi·x^128 mod P",
    source="papers/intel-2023 Table 11, baseline column",
    shape=Shape.WIDE,
    orders=(Order.REFLECTED,),
    apply=apply,
    budget=Budget(group={"clmul": 3, "shuffle": 3, "xor": 3}),
)
