"""The table of the powers of H in few dependent steps, so that a new key can be used soon.

A product takes the table entries of one factor, and the other factor as it is. So V_i
(`kernels.hash.functions.init`) is B_kL·V_(i-k), where V_(i-k), whose entries are known, is the key,
and the newest power, lane 0 of V_k, is the data. Code that waits for a product comes a turn later.
"""

from ghashgen.algebra.ops.protocol import HI_HI, LO_LO
from ghashgen.algebra.schemes.reduce import clmul2
from ghashgen.ir.builder import Builder, Value
from ghashgen.ir.program import VReg
from ghashgen.kernels.hash.functions.init import STRIDE, Table
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.hash.parts.interface import in_register
from ghashgen.kernels.hash.parts.keys import Key, key_of, key_operand, times


def fill(b: Builder, kernel: Kernel, table: VReg, H: VReg) -> None:
    """Record the table of H, given in register form."""
    lanes = kernel.lane_count
    count = kernel.layout.top // lanes
    writer = Table(b, kernel)
    b.about("B_1")
    V = {1: _first_register(b, kernel, key_operand(b, kernel, H))}
    keys: dict[int, Key] = {}
    steps: dict[int, VReg] = {}

    def derive(i: int) -> None:
        b.about(f"entries of V_{i}")
        keys[i] = key_of(b, kernel, V[i])

    def store(i: int) -> None:
        b.about(f"V_{i}")
        writer.store(table, 0, i * lanes, keys[i])

    derive(1)
    for i in range(2, count + 1):
        k = min(1 << (i - 1).bit_length() - 1, STRIDE)
        b.about(f"V_{i} = B_{k * lanes}·V_{i - k}")
        if k not in steps:
            steps[k] = b.spread_lane(V[k], lanes, "in every lane") if lanes > 1 else V[k]
        V[i] = times(b, kernel, steps[k], keys[i - k])
        if i > 2:
            derive(i - 1)
            store(i - 2)
    if count > 1:
        store(count - 1)
        derive(count)
    store(count)
    b.about("")


def _first_register(b: Builder, kernel: Kernel, B1: Value) -> VReg:
    """Return V_1 = (B_L, …, B_1), highest power in lane 0."""
    lanes = kernel.lane_count
    if lanes == 1:
        return in_register(B1)
    b.about("B_2 = B_1·B_1")
    B2 = _square(b, kernel, B1)
    if lanes == 2:
        return b.insert_lane(B2, 1, B1, lanes, "B_2, B_1")
    b.about("B_4 = B_2·B_2")
    B4 = _square(b, kernel, B2)
    b.about("B_3 = B_2·B_1")
    B3 = times(b, kernel, B2, key_of(b, kernel, B1))
    b.about("V_1")
    lower = b.zero("zeros", lanes=lanes)
    for lane, power in ((3, B1), (2, B2), (1, B3)):
        lower = b.insert_lane(lower, lane, power, lanes)
    return b.xor(lower, B4, "B_4, B_3, B_2, B_1")


def _square(b: Builder, kernel: Kernel, B: Value) -> VReg:
    """Return B·B: two products, because the other two are equal."""
    lo, hi = b.clmul(B, B, LO_LO, "B0·B0"), b.clmul(B, B, HI_HI, "B1·B1")
    return in_register(clmul2.SCHEME.apply(b, lo, hi, kernel.bit_order))
