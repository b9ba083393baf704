"""A text to be sealed, where there are byte masks: whole groups, then a straight way.

Groups are as in `directions`, but that the last one, if it is whole, is not one of them: 1 to n
blocks are left for the end, where the block of lengths is hashed with them (`ending`).
"""

from collections.abc import Callable

from ghashgen.ir.program import VReg
from ghashgen.kernels.gcm.parts.directions import LAG
from ghashgen.kernels.gcm.parts.ending import Before, Ending, encipher
from ghashgen.kernels.gcm.parts.text import Text
from ghashgen.kernels.hash.parts.group import add_group, group_keys
from ghashgen.kernels.hash.parts.interface import GROUP, times_h


def seal_text(text: Text, S: VReg, J0: VReg, lengths: Callable[[], VReg]) -> VReg:
    """Record out = in + keystream, and E_K(J_0); return GHASH of the message.

    `lengths` records the block of lengths.
    """
    b, kernel, group_bytes = text.b, text.kernel, text.group_bytes
    ending = Ending(text)
    b.branch("not_below", text.length, group_bytes + 1, "groups")
    ending.ways("alone", Before(S, lengths(), J0))
    b.label("groups")
    X, keys = b.register("X"), group_keys(b, kernel.hash, text.context)

    def hash_group() -> None:
        b.assign(X, add_group(b, kernel.hash, text.context, X, text.out, keys))

    with text.stream("hash"):
        b.assign(X, times_h(b, kernel.hash, text.context, S))
    with text.stream("cipher", lean=False):
        b.about("AES")
        text.write(encipher(text, J0, text.counters.blocks(kernel.registers)))
        b.about("")
    text.move(text.source, group_bytes, "next group")
    text.shorten(group_bytes)
    b.branch("below", text.length, group_bytes + 1, "rest")
    with b.loop(GROUP):
        # `out` stands at the group before, see `directions`.
        with text.stream("hash", start=LAG):
            hash_group()
        with text.stream("cipher", end=1 - LAG, lean=False):
            text.add_keystream(kernel.registers, group_bytes)
        text.advance(group_bytes, "next group")
        b.branch("not_below", text.length, group_bytes + 1, GROUP)
    b.label("rest")
    ending.ways("rest", Before(X, lengths(), group=hash_group))
    return ending.finish()
