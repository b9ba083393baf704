"""Write a partial block of 1 to 15 bytes: each byte once, and none beyond.

It is written in pieces of 8, 4, 2 and 1 bytes, as the binary digits of its length say. GHASH takes
it zero-padded.
"""

from ghashgen.ir.builder import Builder
from ghashgen.ir.program import Mem, VReg

PIECES = (8, 4, 2, 1)
"""Sizes of the pieces in bytes, in writing order."""

POSITIONS = int.from_bytes(range(16), "little")
"""Byte j is j."""


def first_bytes(b: Builder, value: VReg, count: VReg) -> VReg:
    """Record the first `count` (1..15) bytes of a block, zero-padded."""
    counts = b.shuffle_bytes(b.from_gpr(count), b.zero("zeros"), "r in every byte")
    mask = b.bytes_above(counts, b.const(POSITIONS, "positions"), "ones in bytes 0..r-1")
    return b.and_(value, mask, "zero-padded")


def store_partial(b: Builder, out: VReg, count: VReg, value: VReg) -> None:
    """Record the store of the first `count` (1..15) bytes, and advance `out`."""
    left = b.variable(value, "left")
    for size in PIECES:
        label = f"stored_{size}"
        bit = b.gpr("gpr_and", count, size)
        b.branch("equal", bit, 0, label)
        b.emit(f"store{8 * size}", Mem(base=out), left, note=f"{size} of its bytes")
        if size > 1:
            b.assign(left, b.shr_bytes(left, size, "the bytes after them"))
            b.assign(out, b.gpr("gpr_add", out, size))
        b.label(label)
