"""NAME_encrypt(ctx, counter, x, in, out, len): out = in + keystream, X = GHASH over out.

A group of n blocks is hashed while the next one is encrypted; it is read back from `out`, so that
no register holds it. The first group has none to hash beside it, the last one none to encrypt.
"""

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.ir.builder import Builder
from ghashgen.kernels.core import Function
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.gcm.parts.counters import Counters
from ghashgen.kernels.gcm.parts.params import TEXT
from ghashgen.kernels.gcm.parts.rest import add_rest
from ghashgen.kernels.gcm.parts.text import Text
from ghashgen.kernels.hash.parts.group import add_group, group_keys
from ghashgen.kernels.hash.parts.interface import GROUP, load_block, store_block

LAG = 0.15
"""Part of a group's time in which one of the two stands alone, at either end."""


def build(b: Builder, kernel: GcmKernel) -> None:
    """Record the function of this kernel."""
    context, counter, x, source, out, length = b.params
    hashing, group_bytes = kernel.hash, BLOCK_BYTES * kernel.blocks
    b.branch("equal", length, 0, "done")
    X = b.variable(load_block(b, hashing, x, name="X"), "X")
    text = Text(b, kernel, context, Counters(b, kernel, counter), source, out, length)
    b.branch("below", length, group_bytes, "rest")
    b.label("first")
    text.add_keystream(kernel.registers)
    text.move(source, group_bytes, "next group")
    text.shorten(group_bytes)
    keys = group_keys(b, hashing, context)
    b.branch("below", length, group_bytes, "last")
    with b.loop(GROUP):
        # `out` stands at the group before. Its last blocks were written just now, so that GHASH
        # begins a little later than the cipher, which ends a little earlier.
        with b.stream("hash", start=LAG):
            b.assign(X, add_group(b, hashing, context, X, out, keys))
        with b.stream("cipher", end=1 - LAG):
            text.add_keystream(kernel.registers, group_bytes)
        text.move(source, group_bytes, "next group")
        text.move(out, group_bytes)
        text.shorten(group_bytes)
        b.branch("not_below", length, group_bytes, GROUP)
    b.label("last")
    b.assign(X, add_group(b, hashing, context, X, out, keys))
    text.move(out, group_bytes)
    b.branch("equal", length, 0, "store")
    b.label("rest")
    b.assign(X, add_rest(text, X, encrypts=True))
    b.label("store")
    b.about("")
    text.counters.store()
    store_block(b, hashing, x, X)
    b.label("done")


FUNCTION = Function(
    name="encrypt",
    order=20,
    params=TEXT,
    purpose=lambda kernel: (
        "out = in encrypted, x = GHASH continued over out; the counter steps over the blocks"
    ),
    build=build,
    statement="encrypt",
)
"""The function."""
