"""The tag, and its comparison with a received one (SP 800-38D, sections 7.1 and 7.2).

E_K(J_0) is computed once, before AAD and text, and waits in a stack slot.
"""

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.ir.builder import Builder
from ghashgen.ir.program import Label, Mem, Slot, VReg
from ghashgen.kernels.aes.cipher import RoundKeys, rounds
from ghashgen.kernels.aes.rolled import enciphered
from ghashgen.kernels.bytes.exact import Exact
from ghashgen.kernels.bytes.load import load_from_8, load_partial
from ghashgen.kernels.bytes.store import first_bytes
from ghashgen.kernels.gcm.kernel import ANY_TAG, GcmKernel
from ghashgen.kernels.hash.parts.interface import times_h, to_register

MASK = Slot(0)
"""The stack slot of E_K(J_0)."""

SHORT_TAGS = (4, 8)
"""Bytes of tags that only some applications may use (SP 800-38D, section 5.2.1.2)."""

LEAST_TAG = 12
"""Minimum bytes of all other tags."""


def check_tag_length(b: Builder, kernel: GcmKernel, length: VReg, refused: str) -> None:
    """Go to `refused` unless a tag may have `length` bytes."""
    any_tag = kernel.tag_sizes == ANY_TAG
    for bytes_ in () if any_tag else SHORT_TAGS:
        b.branch("equal", length, bytes_, "tag_length")
    b.branch("below", length, min(ANY_TAG) if any_tag else LEAST_TAG, refused)
    b.branch("not_below", length, BLOCK_BYTES + 1, refused)
    b.label("tag_length")


def keep_mask(b: Builder, kernel: GcmKernel, context: VReg, J0: VReg) -> None:
    """Record E_K(J_0), and put it aside."""
    b.buffer(1)
    b.store(MASK, mask_of(b, kernel, context, J0), "E_K(J_0), put aside")


def mask_of(b: Builder, kernel: GcmKernel, context: VReg, J0: VReg) -> VReg:
    """Record E_K(J_0)."""
    b.about("E_K(J_0)")
    keys = RoundKeys(b, kernel, context)
    if kernel.compact:
        state, key = enciphered(b, keys, J0, "mask")
    else:
        (state,), key = rounds(b, keys, [J0]), keys.last(1)
    mask = b.aes_last(state, key, "last round")
    b.about("")
    return mask


def finish_tag(
    b: Builder, kernel: GcmKernel, context: VReg, X: VReg, lengths: VReg, mask: Mem | Slot = MASK
) -> VReg:
    """Record the tag, in memory order, from the state and the length block.

    `mask` holds E_K(J_0).
    """
    b.about("lengths")
    A = b.xor(X, lengths, "A = X + lengths")
    return add_mask(b, kernel, times_h(b, kernel.hash, context, A), mask)


def add_mask(b: Builder, kernel: GcmKernel, X: VReg, mask: Mem | Slot = MASK) -> VReg:
    """Record the tag, in memory order, from GHASH of the message."""
    hashed = to_register(b, kernel.hash, X, "as in memory")
    b.about("")
    return b.xor(hashed, b.load(mask, "E_K(J_0)"), "the tag")


def difference(b: Builder, kernel: GcmKernel, tag: VReg, given: VReg, length: VReg) -> VReg:
    """Record, in a general register, a number that is 0 only if the received tag is right.

    `given` is the address of the received tag. Reads and compares exactly `length` bytes.
    """
    if kernel.instruction_set.partial_registers:
        found = _in_register(b, kernel, tag, given, length)
    else:
        found = (_any if kernel.tag_sizes == ANY_TAG else _overlapping)(b, tag, given, length)
    both = b.or_(found, b.swap64(found), "all differences")
    return b.to_gpr(both)


def _in_register(b: Builder, kernel: GcmKernel, tag: VReg, given: VReg, length: VReg) -> VReg:
    numbers = range(min(kernel.tag_sizes), BLOCK_BYTES + 1)
    exact = Exact.of(b, length, numbers)
    return exact.first(b.xor(tag, exact.load("given", Mem(base=given))), "differences")


def _any(b: Builder, tag: VReg, given: VReg, length: VReg) -> VReg:
    out = b.register("differences")
    b.branch("equal", length, BLOCK_BYTES, "whole")
    with b.part("given"):
        other = load_partial(b, given, length, "loaded")
    return _compared(b, tag, given, length, out, other)


def _overlapping(b: Builder, tag: VReg, given: VReg, length: VReg) -> VReg:
    out, other = b.register("differences"), b.register("given")
    b.branch("equal", length, BLOCK_BYTES, "whole")
    b.branch("below", length, 8, "four")
    b.assign(other, load_from_8(b, given, length))
    b.emit("jump", Label("truncated"))
    b.label("four")
    b.assign(other, b.load_part("load32", Mem(base=given), "the given tag"))
    b.label("truncated")
    return _compared(b, tag, given, length, out, other)


def _compared(b: Builder, tag: VReg, given: VReg, length: VReg, out: VReg, other: VReg) -> VReg:
    """Return the differences, of a part of the tag that was loaded or, from `whole` on, of all."""
    b.assign(out, first_bytes(b, b.xor(tag, other, "differences"), length))
    b.emit("jump", Label("compare"))
    b.label("whole")
    b.assign(out, b.xor(tag, b.load(Mem(base=given), "the given tag"), "differences"))
    b.label("compare")
    return out
