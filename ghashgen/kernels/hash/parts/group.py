"""One aggregated group of n blocks, straight-line: the body of the loop.

n blocks fill ⌊n/L⌋ registers of L lanes. Each set bit of n mod L adds one narrower register, so no
lane is multiplied in vain and no key is read past H^1.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.schemes import aggregate
from ghashgen.ir.builder import Builder, Value
from ghashgen.ir.program import Mem, Slot, VReg
from ghashgen.kernels.hash.kernel import LOOP, Kernel
from ghashgen.kernels.hash.parts.interface import (
    close_group,
    entries,
    in_register,
    key_sum,
    load_block,
    to_register,
)

Keys = Callable[[int], list[Value]]
"""The table entries of part i of a group. Parts count from the last, which is 1."""

Load = Callable[[int, int], VReg]
"""(first block, from 0; lanes) → the register of these blocks of a group, in register form."""


@dataclass(frozen=True)
class Given:
    """What a group finds in registers, by part, and the parts that it prepares for the next one."""

    operands: Mapping[int, Sequence[Value]] = field(default_factory=dict)
    """Operands of whole parts, ready for their products."""
    blocks: Mapping[int, VReg] = field(default_factory=dict)
    """Blocks in register form."""
    meanwhile: Callable[[], None] = lambda: None


NOTHING = Given()


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


def group_keys(b: Builder, kernel: Kernel, table: VReg) -> Keys:
    """Return the powers that a group's registers meet, from H^n in the first lane down.

    Kernels that keep them in registers load them here.
    """
    parts = registers(kernel.blocks, kernel.lane_count)
    found = [entries(kernel, table, kernel.blocks - at) for at, _ in parts]
    if kernel.powers == "registers":
        found = [
            [b.load(key, f"powers of register {i}", lanes) for key in keys if isinstance(key, Mem)]
            for i, (keys, (_, lanes)) in enumerate(zip(found, parts, strict=True))
        ]
    return lambda i: found[len(parts) - i]


def lane_keys(kernel: Kernel, table: VReg) -> Keys:
    """Return the powers of the loop with `fold` "end": one power for all lanes."""
    layout, lanes = kernel.layout, kernel.lane_count
    count = kernel.blocks // lanes

    def keys(i: int) -> list[Value]:
        offset = BLOCK_BYTES * lanes * (count - i)
        return [
            Mem(base=table, disp=layout.arrays[name + LOOP] + offset, align=BLOCK_BYTES)
            for name in kernel.multiplier.entries
        ]

    return keys


def reduce_group(
    b: Builder,
    kernel: Kernel,
    X: VReg,
    source: VReg,
    keys: Keys,
    given: Given = NOTHING,
    load: Load | None = None,
) -> VReg:
    """Record a group at `source` up to the reduced sum of each lane, key terms included.

    `load` loads its registers if they are not contiguous there.
    """
    parts = registers(kernel.blocks, kernel.lane_count)
    loads: list[Callable[[], VReg]]
    if load is not None:
        loads = [partial(load, at, lanes) for at, lanes in parts]
    elif kernel.swap == "stack":
        swapper = _StackSwap(b, kernel, source)
        loads = [partial(swapper.load, at) for at, _ in parts]
    else:
        loads = [
            partial(load_block, b, kernel, source, BLOCK_BYTES * at, "C", lanes)
            for at, lanes in parts
        ]
    for part, block in given.blocks.items():
        loads[part - 1] = partial(_held, block)
    out = aggregate.group(
        b,
        kernel.multiplier,
        kernel.reducer,
        kernel.bit_order,
        X,
        loads,
        keys,
        given.operands,
        given.meanwhile,
    )
    return in_register(out)


def _held(block: VReg) -> VReg:
    return block


def add_group(
    b: Builder,
    kernel: Kernel,
    table: VReg,
    X: VReg,
    source: VReg,
    keys: Keys,
    given: Given = NOTHING,
    load: Load | None = None,
) -> VReg:
    """Record a whole group and add its lanes; return the new state."""
    R = key_sum(kernel, table, kernel.blocks)
    if R is None or kernel.lane_count > 1:
        return close_group(b, reduce_group(b, kernel, X, source, keys, given, load), R)
    n = kernel.blocks

    def with_sum(i: int) -> list[Value]:
        # One lane: `aggregate.group` lets R join before the reduction.
        return [*keys(i), R] if i == n else keys(i)

    return reduce_group(b, kernel, X, source, with_sum, given, load)


def add_lanes(
    b: Builder, kernel: Kernel, table: VReg, X: VReg, source: VReg, given: Given = NOTHING
) -> VReg:
    """Record a whole group with one accumulator per lane; return the new accumulators."""
    out = reduce_group(b, kernel, X, source, lane_keys(kernel, table), given)
    if kernel.multiplier.key_term is None:
        return out
    R = Mem(base=table, disp=kernel.layout.arrays["R" + LOOP], align=BLOCK_BYTES)
    return b.xor(out, R, "minus the key terms")


class _StackSwap:
    """Swaps the bytes of two blocks at a time in a ymm register.

    The lower block stays in the register. The upper one goes through a stack slot, whose store and
    load need no shuffle port. Pairs are swapped AHEAD of their use, to hide that latency.
    """

    AHEAD = 2

    def __init__(self, b: Builder, kernel: Kernel, source: VReg) -> None:
        self.b, self.kernel, self.source = b, kernel, source
        pairs = kernel.blocks // 2
        asked = dict.fromkeys((i - 1) // 2 for i in aggregate.sequence(kernel.blocks))
        self.order = [pair for pair in asked if pair < pairs]
        self.low: dict[int, VReg] = {}
        b.buffer(pairs)

    def load(self, at: int) -> VReg:
        """Return block `at` in register form."""
        b, pair = self.b, at // 2
        if at + 1 == self.kernel.blocks and at % 2 == 0:
            return load_block(b, self.kernel, self.source, BLOCK_BYTES * at)
        position = self.order.index(pair)
        for ahead in self.order[: position + self.AHEAD + 1]:
            if ahead not in self.low:
                self._swap(ahead)
        return self.low[pair] if at % 2 == 0 else b.load(Slot(pair), "C, swapped")

    def _swap(self, pair: int) -> None:
        b = self.b
        memory = Mem(base=self.source, disp=2 * BLOCK_BYTES * pair)
        raw = b.load(memory, f"blocks {2 * pair + 1} and {2 * pair + 2}", 2)
        swapped = to_register(b, self.kernel, raw, "both swapped")
        b.emit("store_high", Slot(pair), swapped, note="the upper one, to be read back")
        self.low[pair] = b.first_lane(swapped)
