"""A reduction that no kernel uses: hi·Q taken whole, then what overflows; natural order only."""

from ghashgen.algebra.field.bitorder import Order
from ghashgen.algebra.ops.protocol import HI_LO, LO_LO, Ops, V
from ghashgen.algebra.schemes.core import Budget, Reduce, Shape


def apply(ops: Ops[V], lo: V, hi: V, order: Order) -> V:
    Q = ops.const(0x87, "toy_q")
    low, high = ops.clmul(hi, Q, LO_LO), ops.clmul(hi, Q, HI_LO)
    overflow = ops.clmul(ops.shr_bytes(high, 8), Q, LO_LO)
    out = ops.xor(ops.xor(lo, low), ops.shl_bytes(high, 8))
    return ops.xor(out, overflow)


SCHEME = Reduce(
    name="toy-whole",
    title="toy",
    claim="RES ≡ lo + hi·x^128 mod P",
    source="tests",
    shape=Shape.WIDE,
    orders=(Order.NATURAL,),
    apply=apply,
    budget=Budget(group={"clmul": 3, "shuffle": 2, "xor": 3}),
)
