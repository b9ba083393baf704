"""J_0, the counter block before those of the text, from the IV (SP 800-38D, section 7.1, step 2).

A 96-bit IV is followed by the number 1. Any other IV is zero-padded and hashed with its length
block, one block at a time, since such IVs are short and rare.
"""

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.ir.builder import Builder
from ghashgen.ir.program import Label, Mem, VReg
from ghashgen.kernels.bytes.exact import load_few
from ghashgen.kernels.bytes.load import load_partial
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.gcm.parts.compact_rest import absorbed
from ghashgen.kernels.gcm.parts.lengths import length_block
from ghashgen.kernels.hash.parts.interface import load_block, times_h, to_register

IV_BYTES = 12
"""Bytes of an IV that is used without hashing."""

FIRST = 1 << 120
"""The number 1 in the last four bytes of a block, big-endian."""


def first_counter(b: Builder, kernel: GcmKernel, context: VReg, iv: VReg, length: VReg) -> VReg:
    """Record J_0 in memory order. Advances `iv`; keeps `length`."""
    J0 = b.register("J_0")
    b.branch("not_equal", length, IV_BYTES, "other")
    b.assign(J0, number_one(b, iv))
    b.emit("jump", Label("ready"))
    b.label("other")
    b.assign(J0, hashed_counter(b, kernel, context, iv, length))
    b.label("ready")
    return J0


def hashed_counter(b: Builder, kernel: GcmKernel, context: VReg, iv: VReg, length: VReg) -> VReg:
    """Record J_0 of an IV that does not have 96 bits. Advances `iv`; keeps `length`."""
    if kernel.compact:
        X = absorbed(b, kernel, context, iv, b.gpr("gpr_copy", length))
        A = b.xor(X, length_block(b, kernel, None, length), "A = X + lengths")
        return to_register(b, kernel.hash, times_h(b, kernel.hash, context, A), "J_0")
    X = b.zero("X")
    left = b.gpr("gpr_copy", length)

    def absorb(C: VReg) -> None:
        b.about("(X + C)·H")
        b.assign(X, times_h(b, kernel.hash, context, b.xor(X, C)))
        b.about("")

    b.branch("below", left, BLOCK_BYTES, "short")
    with b.loop("whole"):
        absorb(load_block(b, kernel.hash, iv))
        b.assign(iv, b.gpr("gpr_add", iv, BLOCK_BYTES, note="the next block"))
        b.assign(left, b.gpr("gpr_sub", left, BLOCK_BYTES))
        b.branch("not_below", left, BLOCK_BYTES, "whole")
    b.branch("equal", left, 0, "lengths")
    b.label("short")
    absorb(to_register(b, kernel.hash, _padded(b, kernel, iv, left), "C_last"))
    b.label("lengths")
    absorb(length_block(b, kernel, None, length))
    return to_register(b, kernel.hash, X, "J_0")


def number_one(b: Builder, iv: VReg) -> VReg:
    """Load a 96-bit IV, and return IV || 1."""
    return b.or_(twelve_bytes(b, iv), b.const(FIRST, "first_number"), "IV || 1")


def _padded(b: Builder, kernel: GcmKernel, iv: VReg, left: VReg) -> VReg:
    """Load 1 to 15 bytes, zero-padded."""
    if kernel.instruction_set.partial_registers:
        return load_few(b, "few", Mem(base=iv), left, range(1, BLOCK_BYTES))
    return load_partial(b, iv, left, "padded")


def twelve_bytes(b: Builder, iv: VReg, within: str = "") -> VReg:
    """Load IV_BYTES bytes, zero-padded."""
    low = b.load_part("load64", Mem(base=iv, within=within), "IV, bytes 0..7")
    high = b.load_part("load32", Mem(base=iv, disp=8, within=within), "bytes 8..11")
    return b.join_low(low, high, "IV")
