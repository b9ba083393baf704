"""Winograd's inner product on top of K: three products for each block and no shuffle.

K's two rows share the data pair (A0, A1). With E0 the key operand of A0 and E1 that of A1,

    lo = A0·E0[0] + A1·E1[0] = (A0 + E1[0])·(A1 + E0[0]) + A0·A1 + E0[0]·E1[0]
    hi = A0·E0[1] + A1·E1[1] = (A0 + E1[1])·(A1 + E0[1]) + A0·A1 + E0[1]·E1[1]

With the table entries C1 = (E1[0], E0[0]) and C2 = (E1[1], E0[1]), T = A + C1 and U = A + C2, a
block costs the products A0·A1, T0·T1 and U0·U1, each of a register with itself. A0·A1 is summed
once (S) and added to both rows once in a group. The key-only terms do not depend on data: they are
folded in advance, and R_n, their sum over the powers 1..n, is added once to the reduced result.
"""

from collections.abc import Mapping, Sequence

from ghashgen.algebra.field.bitorder import Order
from ghashgen.algebra.ops.protocol import LO_HI, Ops, V
from ghashgen.algebra.schemes.core import Budget, Multiply, Shape
from ghashgen.algebra.schemes.multiply import k


def derive(ops: Ops[V], B: V, order: Order) -> tuple[V, ...]:
    """C1 and C2."""
    E0, E1 = k.partners(k.derive(ops, B, order), order)
    return ops.join_low(E1, E0, "C1"), ops.join_high(E1, E0, "C2")


def prepare(ops: Ops[V], A: V, entries: Sequence[V], order: Order) -> Sequence[V]:
    """A, T and U."""
    C1, C2 = entries
    return A, ops.xor(A, C1, "T = A + C1"), ops.xor(A, C2, "U = A + C2")


def multiply(
    ops: Ops[V], operands: Sequence[V], entries: Sequence[V], order: Order
) -> Sequence[tuple[str, V]]:
    """Three products, one into each of S, LO and HI."""
    A, T, U = operands
    return (
        ("S", ops.clmul(A, A, LO_HI, "A0·A1")),
        ("LO", ops.clmul(T, T, LO_HI, "T0·T1")),
        ("HI", ops.clmul(U, U, LO_HI, "U0·U1")),
    )


def products(ops: Ops[V], A: V, entries: Sequence[V], order: Order) -> Sequence[tuple[str, V]]:
    """Three products of A, T and U."""
    return multiply(ops, prepare(ops, A, entries, order), entries, order)


def recombine(ops: Ops[V], acc: Mapping[str, V], order: Order) -> tuple[V, V]:
    """Add S to both rows."""
    LO = ops.xor(acc["LO"], acc["S"], "LO += S")
    HI = ops.xor(acc["HI"], acc["S"], "HI += S")
    return LO, HI


def key_term(ops: Ops[V], entries: Sequence[V], order: Order) -> tuple[V, V]:
    """E0[0]·E1[0] and E0[1]·E1[1]."""
    C1, C2 = entries
    return ops.clmul(C1, C1, LO_HI, "C1[0]·C1[1]"), ops.clmul(C2, C2, LO_HI, "C2[0]·C2[1]")


SCHEME = Multiply(
    name="winograd",
    title="three products and no shuffle, 192-bit result",
    claim="lo + hi·x^64 ≡ A·B + key term mod P",
    source="this project; Winograd's inner product (1968) on papers/intel-2023 Table 10",
    shape=Shape.FOLDED,
    entries=("C1", "C2"),
    accumulators=("S", "LO", "HI"),
    derive=derive,
    products=products,
    recombine=recombine,
    budget=Budget(block={"clmul": 3, "xor": 2}, group={"xor": 2}),
    key_term=key_term,
    operands=("A", "T", "U"),
    prepare=prepare,
    multiply=multiply,
)
