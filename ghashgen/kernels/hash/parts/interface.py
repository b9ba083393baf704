"""What the emitted functions share: table entries, and blocks in register form.

State and blocks are in the kernel's bit order in registers, and in the byte order of SP 800-38D in
memory. For the table see `kernels.hash.kernel.Layout`.
"""

from collections.abc import Mapping

from ghashgen.algebra.field.bitorder import BLOCK_BYTES, Order
from ghashgen.algebra.schemes import aggregate
from ghashgen.ir.builder import Builder, Value
from ghashgen.ir.program import Mem, VReg
from ghashgen.kernels.hash.kernel import ENTRY_BYTES, Kernel
from ghashgen.kernels.memory import BYTE_SWAP, IN_TABLE

BIT_REVERSAL = 0x8040201008040201 << 64 | 0x8040201008040201
"""The 8×8 bit matrix, twice, that reverses the bits of a byte (SDM vol. 2, GF2P8AFFINEQB)."""

GROUP = "group"
"""Label of the loop over whole groups: its body is one aggregated group of n blocks."""

BLOCK_LABEL = "block"
"""Label of one block's multiplication (mul) and of the loop over the tail's blocks (update)."""


def entries(kernel: Kernel, base: VReg, power: int) -> list[Value]:
    """Return the entries from H^power down, as memory operands of any width.

    `base` holds the table's address. If it walks the table and stands at H^m of the first array,
    pass the table's top power: that array then begins where the register stands.
    """
    layout = kernel.layout
    return [_cell(base, layout.offset(name, power)) for name in kernel.multiplier.entries]


def key_sum(kernel: Kernel, base: VReg, power: int) -> Mem | None:
    """Return R_power, the reduced key terms of H^power … H^1, if the scheme has them."""
    if kernel.multiplier.key_term is None:
        return None
    return _cell(base, kernel.layout.offset("R", power))


def _cell(base: VReg, offset: int) -> Mem:
    return Mem(base=base, disp=offset, align=ENTRY_BYTES, within=IN_TABLE)


def to_register(b: Builder, kernel: Kernel, block: VReg, note: str) -> VReg:
    """Convert 16 bytes in memory order to register form, or back: the map is its own inverse."""
    if kernel.op == "polyval":
        return block
    if kernel.bit_order is Order.REFLECTED:
        return b.shuffle_bytes(block, b.const(BYTE_SWAP, "byte_swap"), note)
    if kernel.instruction_set.mirrors:
        return b.mirror_bits(block, note)
    return b.reverse_bits(block, b.const(BIT_REVERSAL, "bit_reversal"), note)


def load_block(
    b: Builder, kernel: Kernel, base: VReg, offset: int = 0, name: str = "C", lanes: int = 1
) -> VReg:
    """Load `lanes` blocks in register form."""
    note = name if kernel.op == "polyval" else f"{name}, bytes as in memory"
    raw = b.load(Mem(base=base, disp=offset), note, lanes)
    return to_register(b, kernel, raw, name)


def load_state(b: Builder, kernel: Kernel, base: VReg) -> VReg:
    """Load the state in register form."""
    if kernel.reverses:
        return b.load(Mem(base=base), "X, bytes reversed")
    return load_block(b, kernel, base, name="X")


def store_state(b: Builder, kernel: Kernel, base: VReg, value: VReg) -> None:
    """Store the state from register form."""
    if kernel.reverses:
        b.store(Mem(base=base), b.first_lane(value), "X, bytes reversed")
    else:
        store_block(b, kernel, base, value)


def store_block(b: Builder, kernel: Kernel, base: VReg, value: VReg, name: str = "X") -> None:
    """Store a block from register form."""
    raw = to_register(b, kernel, b.first_lane(value), f"{name}, bytes as in memory")
    b.store(Mem(base=base), raw, name)


def finish_group(b: Builder, kernel: Kernel, acc: Mapping[str, Value], R: Value | None) -> VReg:
    """Recombine and reduce the accumulators of a group, and add up its lanes."""
    single = kernel.lane_count == 1
    out = finish_lanes(b, kernel, acc, R if single else None)
    return close_group(b, out, None if single else R)


def finish_lanes(b: Builder, kernel: Kernel, acc: Mapping[str, Value], R: Value | None) -> VReg:
    """Recombine and reduce the accumulators of a group, each lane by itself."""
    scheme = kernel.multiplier, kernel.reducer, kernel.bit_order
    return in_register(aggregate.finish(b, *scheme, acc, R))


def times_h(b: Builder, kernel: Kernel, table: VReg, A: VReg) -> VReg:
    """Record A·H, reduced."""
    acc = aggregate.accumulate(
        b, kernel.multiplier, kernel.bit_order, {}, A, entries(kernel, table, 1)
    )
    return finish_group(b, kernel, acc, key_sum(kernel, table, 1))


def in_register(value: Value) -> VReg:
    """Return a computed value, which must not be a memory operand."""
    if isinstance(value, Mem):
        raise TypeError("a value that must be computed is in memory")
    return value


def close_group(b: Builder, lanes: Value, R: Value | None) -> VReg:
    """Add up the lanes of a reduced group, and subtract the key terms."""
    out = in_register(lanes)
    while b.lanes_of(out) > 1:
        out = b.add_halves(out, "add up the lanes")
    return out if R is None else b.xor(out, R, "minus the key terms")


__all__ = [
    "BLOCK_BYTES", "BLOCK_LABEL", "GROUP", "close_group", "entries", "finish_group", "finish_lanes",
    "in_register", "key_sum", "load_block", "load_state", "store_block", "store_state", "times_h",
    "to_register",
]  # fmt: skip
