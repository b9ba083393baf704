"""The table of the powers of H in few dependent steps, so that a new key can be used soon.

A product takes the table entries of one factor, and the other factor as it is. So V_i
(`kernels.hash.functions.init`) is B_kL·V_(i-k), where V_(i-k), whose entries are known, is the key,
and the newest power, lane 0 of V_k, is the data. Products that do not depend on the key are
computed once (`Builder.once`). V_2 waits for no entries: it is a product of 256 bits. Code that
waits for a product comes a turn later.
"""

from ghashgen.algebra.field.bitorder import Order
from ghashgen.algebra.ops.protocol import HI_HI, HI_LO, LO_HI, LO_LO
from ghashgen.algebra.schemes.fold import fold, fold_onto
from ghashgen.ir.builder import Builder
from ghashgen.ir.program import VReg
from ghashgen.kernels.hash.functions.init import STRIDE, Table
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.hash.parts.interface import in_register
from ghashgen.kernels.hash.parts.keys import Key, key_of, key_operand, times


def fill(b: Builder, kernel: Kernel, table: VReg, H: VReg) -> None:
    """Record the table of H, given in register form."""
    lanes = kernel.lane_count
    count = kernel.layout.top // lanes
    writer = _Straight(b, kernel)
    b.about("B_1")
    V = {1: _first_register(b, kernel, in_register(key_operand(b, kernel, H)))}
    keys: dict[int, Key] = {}

    def derive(i: int) -> None:
        b.about(f"entries of V_{i}")
        keys[i] = key_of(b, kernel, V[i])

    def store(i: int) -> None:
        b.about(f"V_{i}")
        writer.store(table, 0, i * lanes, keys[i])

    for i in range(2, count + 1):
        k = min(1 << (i - 1).bit_length() - 1, STRIDE)
        b.about(f"V_{i} = B_{k * lanes}·V_{i - k}")
        B = b.spread_lane(V[k], lanes, "in every lane") if lanes > 1 else V[k]
        if i == 2:
            V[i] = _product(b, kernel, V[1], B) if lanes > 1 else _square(b, kernel, B)
        else:
            V[i] = times(b, kernel, B, keys[i - k])
        derive(i - 1)
        if i > 2:
            store(i - 2)
    if count > 1:
        store(count - 1)
    derive(count)
    store(count)
    b.about("")


class _Straight(Table):
    """Writes the registers one after another, without variables.

    R of a power is its term, those of the L - 1 powers below, and R of the one below these, which
    is in the same lane of the register before.
    """

    def __init__(self, b: Builder, kernel: Kernel) -> None:
        super().__init__(b, kernel)
        self.before: list[VReg] = []
        """Of the last register: the terms, sums of 2, of 4, …; at the end R instead of a sum."""

    def _sum(self, terms: VReg) -> VReg:
        b, before, sums, step = self.b, self.before, [terms], 1
        while step < self.kernel.lane_count:
            if before:
                lower = b.lanes_joined(sums[-1], before[len(sums) - 1], step)
            else:
                lower = b.lanes_down(sums[-1], step)
            sums.append(b.xor(sums[-1], lower, "terms of lower powers"))
            step *= 2
        if before:
            sums[-1] = b.xor(sums[-1], before[-1], "R_i")
        self.before = sums
        return sums[-1]


def _first_register(b: Builder, kernel: Kernel, B1: VReg) -> VReg:
    """Return V_1 = (B_L, …, B_1), highest power in lane 0."""
    lanes = kernel.lane_count
    if lanes == 1:
        return B1
    b.about("B_2 = B_1·B_1")
    B2 = _square(b, kernel, B1)
    if lanes == 2:
        return b.insert_lane(B2, 1, B1, lanes, "B_2, B_1")
    b.about("B_3 = B_2·B_1")
    B3 = _product(b, kernel, B2, B1)
    b.about("B_4 = B_2·B_2")
    B4 = _square(b, kernel, B2)
    b.about("V_1")
    lower = b.zero("zeros", lanes=lanes)
    for lane, power in ((3, B1), (2, B2), (1, B3)):
        lower = b.insert_lane(lower, lane, power, lanes)
    return b.xor(lower, B4, "B_4, B_3, B_2, B_1")


def _product(b: Builder, kernel: Kernel, A: VReg, B: VReg) -> VReg:
    """Return A·B, lane by lane."""
    lo, hi = b.clmul(A, B, LO_LO, "A0·B0"), b.clmul(A, B, HI_HI, "A1·B1")
    MI = b.xor(b.clmul(A, B, LO_HI, "A0·B1"), b.clmul(A, B, HI_LO, "A1·B0"), "MI")
    far, near = (lo, hi) if kernel.bit_order is Order.REFLECTED else (hi, lo)
    Y = fold_onto(b, far, MI, kernel.bit_order, "the far half", "MI")
    return in_register(fold_onto(b, Y, near, kernel.bit_order, "Y", "the near half"))


def _square(b: Builder, kernel: Kernel, B: VReg) -> VReg:
    """Return B·B: two products, because the other two are equal."""
    lo, hi = b.clmul(B, B, LO_LO, "B0·B0"), b.clmul(B, B, HI_HI, "B1·B1")
    far, near = (lo, hi) if kernel.bit_order is Order.REFLECTED else (hi, lo)
    Y = fold(b, far, kernel.bit_order, "the far half")
    return in_register(fold_onto(b, Y, near, kernel.bit_order, "Y", "the near half"))
