"""What the emitted functions share: table entries, and blocks in register form.

In registers the state and the blocks are in the kernel's bit order; in memory they are in the byte
order of SP 800-38D. The table holds the powers 1..n in ascending order, see `Kernel.stride`.
"""

from collections.abc import Mapping

from ghashgen.builder import Builder, Value
from ghashgen.field.bitorder import BLOCK_BYTES, Order
from ghashgen.ir import Mem, VReg
from ghashgen.kernel import ENTRY_BYTES, Kernel
from ghashgen.schemes import aggregate

BYTE_SWAP = int.from_bytes(bytes(range(15, -1, -1)), "little")
"""Byte j of the result is byte 15 - j."""

BIT_REVERSAL = 0x8040201008040201 << 64 | 0x8040201008040201
"""The 8×8 bit matrix, twice, that reverses the bits of a byte (SDM vol. 2, GF2P8AFFINEQB)."""

GROUP = "group"
"""Label of the loop over whole groups: its body is one aggregated group of n blocks."""

BLOCK = "block"
"""Label of one block's multiplication (mul) and of the loop over the tail's blocks (update)."""


def entries(
    kernel: Kernel, base: VReg, power: int, moved: bool = False
) -> tuple[list[Value], Value | None]:
    """Return the entries of H^power as memory operands, and R where the scheme has a key term.

    `base` is the table; or, if `moved`, a register that walks it and stands at H^power already.
    """
    offset = 0 if moved else (power - 1) * kernel.stride
    multiply = kernel.multiplier
    memory: list[Value] = [
        Mem(base=base, disp=offset + ENTRY_BYTES * i, align=ENTRY_BYTES)
        for i in range(len(multiply.table_entries))
    ]
    width = len(multiply.entries)
    return memory[:width], memory[width] if multiply.key_term else None


def to_register(b: Builder, kernel: Kernel, block: VReg, note: str) -> VReg:
    """Turn 16 bytes, as loaded, into register form, or back: the map is its own inverse."""
    if kernel.bit_order is Order.REFLECTED:
        return b.shuffle_bytes(block, b.const(BYTE_SWAP, "byte_swap"), note)
    return b.reverse_bits(block, b.const(BIT_REVERSAL, "bit_reversal"), note)


def load_block(b: Builder, kernel: Kernel, base: VReg, offset: int = 0, name: str = "C") -> VReg:
    """Load a block in register form."""
    raw = b.load(Mem(base=base, disp=offset), f"{name}, bytes as in memory")
    return to_register(b, kernel, raw, name)


def store_block(b: Builder, kernel: Kernel, base: VReg, value: VReg) -> None:
    """Store a block from register form."""
    raw = to_register(b, kernel, value, "X, bytes as in memory")
    b.store(Mem(base=base), raw, "X")


def finish_group(b: Builder, kernel: Kernel, acc: Mapping[str, Value], R: Value | None) -> VReg:
    """Recombine and reduce the accumulators of a group."""
    out = aggregate.finish(b, kernel.multiplier, kernel.reducer, kernel.bit_order, acc, R)
    if isinstance(out, Mem):
        raise TypeError("a reduction must compute its result")
    return out


__all__ = [
    "BLOCK",
    "BLOCK_BYTES",
    "GROUP",
    "entries",
    "finish_group",
    "load_block",
    "store_block",
    "to_register",
]
