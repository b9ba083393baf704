"""Lengths: which a message may have, and the block of them that GHASH takes.

SP 800-38D, section 5.2.1.1: at most 2^39 - 256 bits of text, 2^64 - 1 of AAD and of the IV, and
an IV of 1 bit at least. In bytes: 2^36 - 32, and 2^61 - 1 twice.
"""

from ghashgen.algebra.field.bitorder import Order
from ghashgen.ir.builder import Builder
from ghashgen.ir.program import VReg
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.hash.parts.interface import BYTE_SWAP, to_register

MOST_TEXT = (1 << 36) - 32
"""Bytes of text, at most."""

MOST_OTHERS = (1 << 61) - 1
"""Bytes of AAD or of an IV, at most."""


def check_lengths(b: Builder, iv: VReg, aad: VReg, text: VReg, refused: str) -> None:
    """Go to `refused` with lengths that the standard has no meaning for."""
    most = check_iv(b, iv, refused)
    b.branch("above", aad, most, refused)
    most = b.gpr("gpr_const64", MOST_TEXT, note="bytes of text, at most")
    b.branch("above", text, most, refused)


def check_iv(b: Builder, length: VReg, refused: str) -> VReg:
    """Go to `refused` if an IV may not have so many bytes; return the most that it may."""
    b.branch("equal", length, 0, refused)
    most = b.gpr("gpr_const64", MOST_OTHERS, note="bytes of AAD or IV, at most")
    b.branch("above", length, most, refused)
    return most


def length_block(b: Builder, kernel: GcmKernel, first: VReg | None, second: VReg) -> VReg:
    """Return [8·first]_64 || [8·second]_64 in register form; without a first number, it is 0."""
    block = _bits(b, second)
    if first is not None:
        block = b.join_low(block, _bits(b, first), "bits of both lengths, bytes reversed")
    if kernel.hash.bit_order is Order.REFLECTED:
        # That is what the block's register holds: its bytes in the opposite order.
        return block
    raw = b.shuffle_bytes(block, b.const(BYTE_SWAP, "byte_swap"), "as in memory")
    return to_register(b, kernel.hash, raw, "the lengths")


def _bits(b: Builder, length: VReg) -> VReg:
    return b.from_gpr(b.gpr("gpr_shl", length, 3, note="bits"))
