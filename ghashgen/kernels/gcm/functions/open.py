"""NAME_open(ctx, iv, iv_len, aad, aad_len, in, len, out, tag, tag_len): a message decrypted.

The text is decrypted while it is hashed, before its tag is verified. If the tag does not match, all
of `out` is overwritten with zeros. With `--on-failure untouched` the text is hashed first, and
decrypted if the tag matches, so nothing unverified is ever written. Time depends on whether the
tags match, not on which bits differ.
"""

from ghashgen.ir.builder import Builder
from ghashgen.ir.program import Label, VReg
from ghashgen.kernels.core import Function
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.gcm.parts.clear import clear
from ghashgen.kernels.gcm.parts.entered import compact
from ghashgen.kernels.gcm.parts.lengths import check_lengths
from ghashgen.kernels.gcm.parts.message import Message
from ghashgen.kernels.gcm.parts.params import (
    ASSOCIATED,
    DIFFERS,
    DONE,
    REFUSED,
    STATUS,
    TAG,
    TAG_LENGTH,
    with_tags,
)
from ghashgen.kernels.gcm.parts.tag import check_tag_length, difference
from ghashgen.kernels.gcm.parts.ways import Way


def build(b: Builder, kernel: GcmKernel) -> None:
    """Record the function of this kernel."""
    *given, tag, tag_length = b.params
    message = Message(b, kernel, *given)
    way = Way.here(b) if kernel.compact else None
    if way is not None:
        way.texts("text")
    check_lengths(b, message.iv_length, message.aad_length, message.length, "refused")
    if way is not None:
        way.seals("begin")
    check_tag_length(b, kernel, tag_length, "refused")
    if way is not None:
        wanted = compact(b, message, tag, tag_length, way)
    elif kernel.keeps_output:
        wanted, J0 = message.tag_alone()
    else:
        wanted = right_tag(b, kernel, message)
    found = difference(b, kernel, wanted, tag, tag_length)
    b.branch("equal", found, 0, "right")
    if not kernel.keeps_output:
        with b.part("clear"):
            clear(b, kernel, message.out, message.length)
    b.give(DIFFERS)
    b.label("right")
    if kernel.keeps_output:
        with b.part("text"):
            message.decrypt_alone(J0)
    b.give(DONE)
    b.label("refused")
    b.give(REFUSED)


def right_tag(b: Builder, kernel: GcmKernel, message: Message) -> VReg:
    """Record the text; return the right tag."""
    if not (kernel.instruction_set.partial_registers or kernel.short):
        return message.record(lambda tag: None, False)
    wanted = b.register("the tag")

    def short(tag: VReg) -> None:
        b.assign(wanted, tag)
        b.emit("jump", Label("wanted"))

    b.assign(wanted, message.record(short, False))
    b.label("wanted")
    return wanted


FUNCTION = Function(
    name="open",
    order=50,
    params=(*ASSOCIATED, TAG, TAG_LENGTH),
    purpose=lambda kernel: (
        "decrypt in to out, check the tag; return 0, 1 if it does not match (out is then "
        f"{'untouched' if kernel.keeps_output else 'zero'}), or 2 if a length is invalid"
    ),
    build=build,
    statement="open",
    variant=lambda kernel: with_tags(kernel, *ASSOCIATED, TAG, TAG_LENGTH),
    exported=lambda kernel: kernel.messages,
    returns=STATUS,
)
