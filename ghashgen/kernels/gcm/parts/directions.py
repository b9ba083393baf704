"""A whole text, one way or the other: whole groups in a loop, then what is left.

Encrypting, a group of n blocks is hashed while the next one is encrypted; it is read back from
`out`, so that no register holds it. The first group has none to hash beside it, the last one none
to encrypt. Decrypting, a group is hashed while it is decrypted. Kernels that do not stitch hash a
group behind its AES, or before, where that is what it is encrypted from.
"""

from contextlib import AbstractContextManager, nullcontext

from ghashgen.ir.program import VReg
from ghashgen.kernels.gcm.parts.rest import add_rest
from ghashgen.kernels.gcm.parts.text import Text
from ghashgen.kernels.hash.parts.group import add_group, group_keys
from ghashgen.kernels.hash.parts.interface import GROUP

LAG = 0.15
"""Part of a group's time in which one of the two stands alone, at either end."""


def encrypt_text(text: Text, X: VReg, done: str) -> None:
    """Record out = in + keystream, X continued over out; 1 byte at least. Ends at `done`."""
    _branch_to_rest(text)
    (_encrypt_stitched if text.kernel.stitch else _encrypt_apart)(text, X)
    _finish(text, X, True, done)


def decrypt_text(text: Text, X: VReg, done: str) -> None:
    """Record out = in + keystream, X continued over in; 1 byte at least. Ends at `done`."""
    b, kernel, context = text.b, text.kernel, text.context
    _branch_to_rest(text)
    b.label("groups")
    keys = group_keys(b, kernel.hash, context)
    with b.loop(GROUP):
        with _stream(text, "hash"):
            b.assign(X, add_group(b, kernel.hash, context, X, text.source, keys))
        with _stream(text, "cipher", lean=False):
            text.add_keystream(kernel.registers)
        _next_group(text)
    _finish(text, X, False, done)


def _encrypt_stitched(text: Text, X: VReg) -> None:
    b, kernel, context, group_bytes = text.b, text.kernel, text.context, text.group_bytes
    hashing, length = kernel.hash, text.length
    b.label("first")
    text.add_keystream(kernel.registers)
    text.move(text.source, group_bytes, "next group")
    text.shorten(group_bytes)
    keys = group_keys(b, hashing, context)
    b.branch("below", length, group_bytes, "last")
    with b.loop(GROUP):
        # `out` stands at the group before. Its last blocks were written just now, so that GHASH
        # begins a little later than the cipher, which ends a little earlier.
        with _stream(text, "hash", start=LAG):
            b.assign(X, add_group(b, hashing, context, X, text.out, keys))
        with _stream(text, "cipher", end=1 - LAG, lean=False):
            text.add_keystream(kernel.registers, group_bytes)
        _next_group(text)
    b.label("last")
    b.assign(X, add_group(b, hashing, context, X, text.out, keys))
    text.move(text.out, group_bytes)


def _encrypt_apart(text: Text, X: VReg) -> None:
    b, kernel, context = text.b, text.kernel, text.context
    b.label("groups")
    keys = group_keys(b, kernel.hash, context)
    with b.loop(GROUP):
        text.add_keystream(kernel.registers)
        b.assign(X, add_group(b, kernel.hash, context, X, text.out, keys))
        _next_group(text)


def _next_group(text: Text) -> None:
    """Go back for another group if there is one."""
    b, group_bytes = text.b, text.group_bytes
    text.move(text.source, group_bytes, "next group")
    text.move(text.out, group_bytes)
    text.shorten(group_bytes)
    b.branch("not_below", text.length, group_bytes, GROUP)


def _stream(
    text: Text, name: str, start: float = 0.0, end: float = 1.0, *, lean: bool = True
) -> AbstractContextManager[None]:
    """Return what makes a stream of what is recorded inside, if the kernel stitches."""
    return text.b.stream(name, start, end, lean=lean) if text.kernel.stitch else nullcontext()


def _branch_to_rest(text: Text) -> None:
    if text.has_rest:
        text.b.branch("below", text.length, text.group_bytes, "rest")


def _finish(text: Text, X: VReg, encrypts: bool, done: str) -> None:
    b = text.b
    if text.has_rest:
        b.branch("equal", text.length, 0, done)
        b.label("rest")
        b.assign(X, add_rest(text, X, encrypts=encrypts))
    b.label(done)
    b.about("")
