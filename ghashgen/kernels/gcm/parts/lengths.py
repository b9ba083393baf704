"""Length checks, and the length block that GHASH takes.

SP 800-38D, section 5.2.1.1, allows 2^39 - 256 bits of text, and 2^64 - 1 bits of AAD and of the IV.
An IV has at least 1 bit. In bytes: 2^36 - 32, and 2^61 - 1 for the other two.
"""

from ghashgen.algebra.field.bitorder import Order
from ghashgen.ir.builder import Builder
from ghashgen.ir.program import VReg
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.hash.parts.interface import to_register
from ghashgen.kernels.memory import BYTE_SWAP

MOST_TEXT = (1 << 36) - 32
"""Maximum bytes of text."""

MOST_OTHERS = (1 << 61) - 1
"""Maximum bytes of AAD or of an IV."""


def check_lengths(b: Builder, iv: VReg, aad: VReg, text: VReg, refused: str) -> None:
    """Go to `refused` if a length is outside the standard's limits."""
    most = check_iv(b, iv, refused)
    b.branch("above", aad, most, refused)
    most = b.gpr("gpr_const64", MOST_TEXT, note="bytes of text, at most")
    b.branch("above", text, most, refused)


def check_iv(b: Builder, length: VReg, refused: str) -> VReg:
    """Go to `refused` if the IV's length is invalid; return the maximum."""
    b.branch("equal", length, 0, refused)
    most = b.gpr("gpr_const64", MOST_OTHERS, note="bytes of AAD or IV, at most")
    b.branch("above", length, most, refused)
    return most


def length_block(b: Builder, kernel: GcmKernel, first: VReg | None, second: VReg) -> VReg:
    """Return [8·first]_64 || [8·second]_64 in register form. Without `first`, its half is 0."""
    block = _bits(b, second)
    if first is not None:
        block = b.join_low(block, _bits(b, first), "bits of both lengths, bytes reversed")
    if kernel.hash.bit_order is Order.REFLECTED:
        # The register holds the block's bytes in reverse.
        return block
    raw = b.shuffle_bytes(block, b.const(BYTE_SWAP, "byte_swap"), "as in memory")
    return to_register(b, kernel.hash, raw, "the lengths")


def _bits(b: Builder, length: VReg) -> VReg:
    return b.from_gpr(b.gpr("gpr_shl", length, 3, note="bits"))
