"""Schoolbook: the four 64×64 products (papers/intel-2023, Table 5 and Table 9, step 1).

    A·B = A0·B0 + (A0·B1 + A1·B0)·x^64 + A1·B1·x^128

The middle products are summed over the whole group before they are split between lo and hi.
"""

from collections.abc import Mapping, Sequence

from ghashgen.algebra.field.bitorder import Order
from ghashgen.algebra.ops.protocol import HI_HI, HI_LO, LO_HI, LO_LO, Ops, V
from ghashgen.algebra.schemes.core import Budget, Multiply, Shape


def derive(ops: Ops[V], B: V, order: Order) -> tuple[V, ...]:
    """The table holds B itself."""
    return (B,)


def products(ops: Ops[V], A: V, entries: Sequence[V], order: Order) -> Sequence[tuple[str, V]]:
    """Four products into LO, MI, HI."""
    (B,) = entries
    return (
        ("HI", ops.clmul(A, B, HI_HI, "A1·B1")),
        ("LO", ops.clmul(A, B, LO_LO, "A0·B0")),
        ("MI", ops.clmul(A, B, HI_LO, "A1·B0")),
        ("MI", ops.clmul(A, B, LO_HI, "A0·B1")),
    )


def recombine(ops: Ops[V], acc: Mapping[str, V], order: Order) -> tuple[V, V]:
    """(LO, HI) + MI·x^64."""
    MI = acc["MI"]
    HI = ops.xor(acc["HI"], ops.shr_bytes(MI, 8, "MI1"), "HI += MI1")
    LO = ops.xor(acc["LO"], ops.shl_bytes(MI, 8, "MI0·x^64"), "LO += MI0·x^64")
    return LO, HI


SCHEME = Multiply(
    name="schoolbook",
    title="four products, 256-bit result",
    claim="lo + hi·x^128 = A·B",
    source="papers/intel-2023 Table 9 step 1 (reflected), Table 5 step 1 (natural)",
    shape=Shape.WIDE,
    entries=("B",),
    accumulators=("LO", "MI", "HI"),
    derive=derive,
    products=products,
    recombine=recombine,
    budget=Budget(block={"clmul": 4}, group={"shuffle": 2, "xor": 2}),
)
