"""Only shifts and xors (papers/tls-aes-gcm-results, section 5; there are no carry-less products).

natural      multiply hi by Q = 1 + x + x^2 + x^7: left shifts by 1, 2, 7. The bits that leave
             each half are its right shifts by 63, 62, 57; those that leave hi are folded in first
reflected    the mirror image: right shifts of lo by 1, 2, 7. The bits that leave each half are
             its left shifts by 63, 62, 57; those that leave lo's low half go to its high half
"""

from ghashgen.algebra.field.bitorder import Order
from ghashgen.algebra.ops.protocol import Ops, V
from ghashgen.algebra.schemes.core import Budget, Reduce, Shape


def apply(ops: Ops[V], lo: V, hi: V, order: Order) -> V:
    """Two phases: the bits that leave a half, then the multiple of Q."""
    if order is Order.REFLECTED:
        out = ops.xor(ops.shl64(lo, 63), ops.shl64(lo, 62))
        out = ops.xor(out, ops.shl64(lo, 57), "bits that leave each half of LO")
        LO = ops.xor(lo, ops.shl_bytes(out, 8, "out0·x^64"), "LO += out0·x^64")
        HI = ops.xor(hi, ops.shr_bytes(out, 8, "out1"), "HI += out1")
        sum_ = ops.xor(LO, ops.shr64(LO, 1), "LO + LO >> 1")
        sum_ = ops.xor(sum_, ops.shr64(LO, 2), "  + LO >> 2")
        sum_ = ops.xor(sum_, ops.shr64(LO, 7), "  + LO >> 7")
        return ops.xor(sum_, HI, "RES")
    out = ops.xor(ops.shr64(hi, 63), ops.shr64(hi, 62))
    out = ops.xor(out, ops.shr64(hi, 57), "bits that leave each half of HI")
    HI = ops.xor(hi, ops.shr_bytes(out, 8, "out1"), "HI += out1: those that leave HI")
    LO = ops.xor(lo, ops.shl_bytes(out, 8, "out0·x^64"), "LO += out0·x^64")
    sum_ = ops.xor(HI, ops.shl64(HI, 1), "HI + HI << 1")
    sum_ = ops.xor(sum_, ops.shl64(HI, 2), "  + HI << 2")
    sum_ = ops.xor(sum_, ops.shl64(HI, 7), "  + HI << 7")
    return ops.xor(sum_, LO, "RES")


SCHEME = Reduce(
    name="shift-xor",
    title="shifts and xors, no product",
    claim="RES ≡ lo + hi·x^128 mod P",
    source="papers/tls-aes-gcm-results, section 5",
    shape=Shape.WIDE,
    orders=(Order.REFLECTED, Order.NATURAL),
    apply=apply,
    budget=Budget(group={"shift": 6, "shuffle": 2, "xor": 8}),
)
