"""Folding by 64 bits: v·x^64 mod P (up to the last fold) with one carry-less product by a constant.

Natural order: x^128 ≡ Q = x^7 + x^2 + x + 1, so the high half of v·x^64 = v1·x^128 + v0·x^64
becomes v1·Q (papers/intel-2023, Tables 5 and 6).

Reflected order: the half that overflows is the low one. With bit k of a w-bit register standing for
x^(w-1-k), dropping the low half v0 costs v0·Q' on the 128 bits above it, and another v0 at their
upper half because Q' = bitreflect64(Q >> 1) leaves out the term 1 of Q:

    fold(v) = v0·Q' + v0·x^64 + v1 = v0·Q' + swap64(v)      (papers/intel-2023, Tables 9 and 10)

The same map makes K from B, and finishes a product: see `multiply.k` and `reduce.clmul1`.
"""

from ghashgen.algebra.field.bitorder import Order
from ghashgen.algebra.ops.protocol import HI_LO, LO_HI, Ops, V

Q_REFLECTED = 0xC200000000000000
"""Q' = bitreflect64(Q >> 1)."""

Q_NATURAL = 0x87
"""Q = x^128 mod P."""

FOLD_CONSTANT = {
    # Q' is the high half. The low 1 lets the same 16 bytes serve `twist`, as x^128 reflected.
    Order.REFLECTED: Q_REFLECTED << 64 | 1,
    Order.NATURAL: Q_NATURAL,
}

FOLD_NAME = "fold_q"


def fold(ops: Ops[V], v: V, order: Order, what: str = "v") -> V:
    """Return v moved 64 bits towards the result; 1 clmul, 1 half move, 1 xor."""
    product, moved = _parts(ops, v, order, what)
    return ops.xor(product, moved, f"fold {what}")


def fold_onto(ops: Ops[V], v: V, near: V, order: Order, what: str, onto: str) -> V:
    """Return fold(v) + near.

    The parts that do not depend on the product are added first, so only one addition follows it.
    """
    product, moved = _parts(ops, v, order, what)
    rest = ops.xor(moved, near, f"+ {onto}")
    return ops.xor(product, rest, f"RES = fold({what}) + {onto}")


def _parts(ops: Ops[V], v: V, order: Order, what: str) -> tuple[V, V]:
    q = ops.const(FOLD_CONSTANT[order], FOLD_NAME)
    if order is Order.REFLECTED:
        product = ops.clmul(v, q, LO_HI, f"{what}0·Q'")
        return product, ops.swap64(v, f"({what}1, {what}0)")
    product = ops.clmul(v, q, HI_LO, f"{what}1·Q")
    return product, ops.shl_bytes(v, 8, f"{what}0·x^64")
