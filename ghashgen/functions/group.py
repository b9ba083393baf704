"""One aggregated group of n blocks, straight-line: the body of the loop.

n blocks are ⌊n/L⌋ registers of L lanes; what is left of n is one narrower register for every bit of
n mod L, so that no lane is multiplied in vain and no key is read past H^1.
"""

from functools import partial

from ghashgen.builder import Builder, Value
from ghashgen.field.bitorder import BLOCK_BYTES
from ghashgen.functions.interface import close_group, entries, key_sum, load_block
from ghashgen.ir import VReg
from ghashgen.kernel import Kernel
from ghashgen.schemes import aggregate


def registers(blocks: int, lanes: int) -> list[tuple[int, int]]:
    """Return (first block, lanes) of each register that holds a group; blocks count from 0.

    Six blocks in registers of four lanes: [(0, 4), (4, 2)].
    """
    out = []
    at = 0
    while at < blocks:
        while lanes > blocks - at:
            lanes //= 2
        out.append((at, lanes))
        at += lanes
    return out


def add_group(b: Builder, kernel: Kernel, table: VReg, X: VReg, source: VReg) -> VReg:
    """Record a whole group at `source`; return the new state."""
    n = kernel.blocks
    parts = registers(n, kernel.lane_count)

    def load(part: tuple[int, int]) -> VReg:
        at, lanes = part
        return load_block(b, kernel, source, BLOCK_BYTES * at, lanes=lanes)

    def key(i: int) -> list[Value]:
        return entries(kernel, table, n - parts[len(parts) - i][0])

    reduced = aggregate.group(
        b,
        kernel.multiplier,
        kernel.reducer,
        kernel.bit_order,
        X,
        [partial(load, part) for part in parts],
        key,
    )
    return close_group(b, reduced, key_sum(kernel, table, n))
