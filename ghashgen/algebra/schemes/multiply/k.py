"""K: fold the key instead of the product (papers/intel-2023, Tables 6-8 and 10).

Products that would need another fold use K = fold(B) instead of B. So the sum is 192 bits wide, and
one fold finishes it:

    natural      Y = A0·B + A1·K        K = B1·Q + B0·x^64
    reflected    Y = A0·K + A1·B        K = B0·Q' + B0·x^64 + B1

with Y = lo + hi·x^64, where lo takes the low halves of the key operands and hi the high ones.
"""

from collections.abc import Mapping, Sequence

from ghashgen.algebra.field.bitorder import Order
from ghashgen.algebra.ops.protocol import HI_HI, HI_LO, LO_HI, LO_LO, Ops, V
from ghashgen.algebra.schemes.core import Budget, Multiply, Shape
from ghashgen.algebra.schemes.fold import fold


def derive(ops: Ops[V], B: V, order: Order) -> tuple[V, ...]:
    """B, and K = fold(B)."""
    return B, fold(ops, B, order, "B")


def partners(entries: Sequence[V], order: Order) -> tuple[V, V]:
    """Return the key operands (of A0, of A1)."""
    B, K = entries
    return (K, B) if order is Order.REFLECTED else (B, K)


def products(ops: Ops[V], A: V, entries: Sequence[V], order: Order) -> Sequence[tuple[str, V]]:
    """Four products, two into each of LO and HI."""
    E0, E1 = partners(entries, order)
    e0, e1 = ("K", "B") if order is Order.REFLECTED else ("B", "K")
    return (
        ("LO", ops.clmul(A, E0, LO_LO, f"A0·{e0}0")),
        ("HI", ops.clmul(A, E0, LO_HI, f"A0·{e0}1")),
        ("LO", ops.clmul(A, E1, HI_LO, f"A1·{e1}0")),
        ("HI", ops.clmul(A, E1, HI_HI, f"A1·{e1}1")),
    )


def recombine(ops: Ops[V], acc: Mapping[str, V], order: Order) -> tuple[V, V]:
    """Return the accumulators unchanged."""
    return acc["LO"], acc["HI"]


SCHEME = Multiply(
    name="k",
    title="four products with the precomputed K, 192-bit result",
    claim="lo + hi·x^64 ≡ A·B mod P",
    source="papers/intel-2023 Table 10 (reflected), Tables 6-8 (natural)",
    shape=Shape.FOLDED,
    entries=("B", "K"),
    accumulators=("LO", "HI"),
    derive=derive,
    products=products,
    recombine=recombine,
    budget=Budget(block={"clmul": 4}),
)
