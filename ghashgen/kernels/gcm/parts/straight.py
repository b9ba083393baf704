"""A text of a whole message in wide registers (AVX-512): whole groups, then a straight path.

Groups are as in `directions`, but a last whole group is not one of them: 1 to n blocks remain for
the end, which hashes the length block with them (`ending`). J_0 goes through the cipher beside the
first group.
"""

from collections.abc import Callable

from ghashgen.ir.program import Label, VReg
from ghashgen.kernels.gcm.parts.directions import LAG
from ghashgen.kernels.gcm.parts.ending import Before, Ending, encipher
from ghashgen.kernels.gcm.parts.text import Text
from ghashgen.kernels.hash.parts.group import add_group, group_keys
from ghashgen.kernels.hash.parts.interface import GROUP, times_h


def straight_text(
    text: Text, S: VReg, J0: VReg, lengths: Callable[[], VReg], encrypts: bool
) -> VReg:
    """Record out = in + keystream; return the tag.

    `lengths` records the block of lengths.
    """
    b, kernel, group_bytes = text.b, text.kernel, text.group_bytes
    ending = Ending(text, encrypts)
    b.branch("not_below", text.length, group_bytes + 1, "groups")
    tag = b.variable(ending.ways("alone", Before(S, lengths(), J0)), "the tag")
    b.emit("jump", Label("tagged"))
    b.label("groups")
    X, keys = b.register("X"), group_keys(b, kernel.hash, text.context)
    # Encrypting, `out` stands at the previous group, which is hashed; see `directions`.
    hashed, lag, ahead = (text.out, LAG, group_bytes) if encrypts else (text.source, 0.0, 0)

    def hash_group() -> None:
        b.assign(X, add_group(b, kernel.hash, text.context, X, hashed, keys))

    with text.stream("hash"):
        b.assign(X, times_h(b, kernel.hash, text.context, S) if encrypts else ending.first_group(S))
    with text.stream("cipher", lean=False):
        b.about("AES")
        text.write(encipher(text, J0, text.counters.blocks(kernel.registers)))
        b.about("")
    text.move(text.source, group_bytes, "next group")
    if not encrypts:
        text.move(text.out, group_bytes)
    text.shorten(group_bytes)
    b.branch("below", text.length, group_bytes + 1, "rest")
    with b.loop(GROUP):
        with text.stream("hash", start=lag):
            hash_group()
        with text.stream("cipher", end=1 - lag, lean=False):
            text.add_keystream(kernel.registers, ahead)
        text.advance(group_bytes, "next group")
        b.branch("not_below", text.length, group_bytes + 1, GROUP)
    b.label("rest")
    before = Before(X, lengths(), group=hash_group if encrypts else None)
    b.assign(tag, ending.ways("rest", before))
    b.label("tagged")
    return tag
