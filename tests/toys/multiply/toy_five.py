"""A scheme that no kernel uses: schoolbook, its two middle products kept apart."""

from collections.abc import Mapping, Sequence

from ghashgen.algebra.field.bitorder import Order
from ghashgen.algebra.ops.protocol import HI_HI, HI_LO, LO_HI, LO_LO, Ops, V
from ghashgen.algebra.schemes.core import Budget, Multiply, Shape


def derive(ops: Ops[V], B: V, order: Order) -> tuple[V, ...]:
    return (ops.swap64(B),)


def products(ops: Ops[V], A: V, entries: Sequence[V], order: Order) -> Sequence[tuple[str, V]]:
    (swapped,) = entries
    return (
        ("LO", ops.clmul(A, swapped, LO_HI)),
        ("M1", ops.clmul(A, swapped, LO_LO)),
        ("M2", ops.clmul(A, swapped, HI_HI)),
        ("HI", ops.clmul(A, swapped, HI_LO)),
    )


def recombine(ops: Ops[V], acc: Mapping[str, V], order: Order) -> tuple[V, V]:
    lo, hi = acc["LO"], acc["HI"]
    for name in ("M1", "M2"):
        lo = ops.xor(lo, ops.shl_bytes(acc[name], 8))
        hi = ops.xor(hi, ops.shr_bytes(acc[name], 8))
    return lo, hi


SCHEME = Multiply(
    name="toy-five",
    title="toy",
    claim="lo + hi·x^128 = A·B",
    source="tests",
    shape=Shape.WIDE,
    entries=("swapped",),
    accumulators=("LO", "M1", "M2", "HI"),
    derive=derive,
    products=products,
    recombine=recombine,
    budget=Budget(block={"clmul": 4}, group={"shuffle": 4, "xor": 4}),
)
