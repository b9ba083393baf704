"""A begun block: a piece of 1 to 15 bytes at some place in it.

A byte shuffle moves the bytes of a piece to their place in the block. The opposite shuffle moves
the keystream's bytes back. Their orders are read from a table, at an address that depends on the
place.
"""

from collections.abc import Callable

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.ir.builder import Builder
from ghashgen.ir.program import Mem, VReg
from ghashgen.kernels.bytes.exact import Exact, load_few, turned
from ghashgen.kernels.bytes.load import load_partial
from ghashgen.kernels.bytes.store import first_bytes, store_partial
from ghashgen.kernels.gcm.kernel import GcmKernel


def load_piece(b: Builder, kernel: GcmKernel, source: VReg, count: VReg) -> VReg:
    """Record the load of `count` (1..15) bytes, zero-padded."""
    if kernel.instruction_set.partial_registers:
        return load_few(b, "piece", Mem(base=source), count, range(1, BLOCK_BYTES))
    return load_partial(b, source, count, "padded")


def crypt_piece(
    b: Builder,
    kernel: GcmKernel,
    text: tuple[VReg, VReg, VReg],
    keystream: Callable[[], VReg],
    encrypts: bool,
) -> VReg:
    """Record the encryption or decryption of a piece; return its ciphertext, zero-padded.

    `text` is (in, out, 1..15 bytes). The first bytes of the keystream are added.
    """
    source, out, count = text
    if kernel.instruction_set.partial_registers:
        exact = Exact.of(b, count, range(1, BLOCK_BYTES))
        raw = exact.load("piece", Mem(base=source))
        written = b.xor(raw, keystream(), "the other text")
        exact.store("written", Mem(base=out), written)
        return exact.first(written) if encrypts else raw
    raw = load_partial(b, source, count, "padded")
    written = b.xor(raw, keystream(), "the other text")
    C = first_bytes(b, written, count) if encrypts else raw
    store_partial(b, b.gpr("gpr_copy", out), count, written)
    return C


def moved_up(b: Builder, value: VReg, place: VReg) -> VReg:
    """Record a block moved up by `place` (0..15) bytes, zeros below."""
    order = Mem(base=b.gpr("gpr_minus", turned(b), place), disp=BLOCK_BYTES)
    return b.shuffle_bytes(value, order, "in its place")


def moved_down(b: Builder, value: VReg, place: VReg) -> VReg:
    """Record a block moved down by `place` (0..15) bytes, zeros above."""
    order = Mem(base=turned(b), index=place, disp=BLOCK_BYTES)
    return b.shuffle_bytes(value, order, "from its place on")
