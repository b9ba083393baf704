"""B = twist(H): the key operand that a carry-less product of registers needs.

Reflected order: the product of two reflected registers reads as A·B·x, so the key operand carries
x^-1. This is "H<<1 mod P" in papers/intel-2010: in register form a left shift by one bit. The bit
shifted out is x^-1 = x^127 + x^6 + x + 1, whose register form is Q' in the high half and a 1.

Natural order: the product reads as A·B, so the twist does nothing.
"""

from ghashgen.algebra.field.bitorder import Order
from ghashgen.algebra.ops.protocol import Ops, V
from ghashgen.algebra.schemes.fold import FOLD_CONSTANT, FOLD_NAME


def twist(ops: Ops[V], H: V, order: Order) -> V:
    """Return the register form of the key operand for the register form H."""
    if order is Order.NATURAL:
        return H
    top = ops.spread_top(H, "128 copies of bit 127, the coefficient 1 of H")
    wrap = ops.and_const(top, FOLD_CONSTANT[order], FOLD_NAME, "x^-1 if it is set")
    carries = ops.shl_bytes(ops.shr64(H, 63, "bits that cross"), 8, "from the low to the high half")
    shifted = ops.xor(ops.shl64(H, 1, "H << 1"), carries, "as 128 bits")
    return ops.xor(shifted, wrap, "B = H·x^-1 mod P")
