"""NAME_open(ctx, iv, iv_len, aad, aad_len, in, len, out, tag, tag_len): a message decrypted.

The text is decrypted while it is hashed, before its tag is verified. If the tag does not match, all
of `out` is overwritten with zeros. Time depends on whether the tags match, not on which bits
differ.
"""

from ghashgen.ir.builder import Builder
from ghashgen.ir.program import Label, VReg
from ghashgen.kernels.core import Function
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.gcm.parts.clear import clear
from ghashgen.kernels.gcm.parts.directions import decrypt_text
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
)
from ghashgen.kernels.gcm.parts.short import most_bytes
from ghashgen.kernels.gcm.parts.tag import check_tag_length, difference
from ghashgen.kernels.gcm.parts.text import Text


def build(b: Builder, kernel: GcmKernel) -> None:
    """Record the function of this kernel."""
    *given, tag, tag_length = b.params
    message = Message(b, kernel, *given)
    check_lengths(b, message.iv_length, message.aad_length, message.length, "refused")
    check_tag_length(b, tag_length, "refused")
    if kernel.instruction_set.partial_registers or kernel.short:
        wanted = _straight(b, kernel, message)
    else:
        X, text = message.begin()
        b.branch("equal", message.length, 0, "tag")
        wanted = _by_phases(message, X, text)
    found = difference(b, kernel, wanted, tag, tag_length)
    b.branch("equal", found, 0, "right")
    with b.part("clear"):
        clear(b, kernel, message.out, message.length)
    b.give(DIFFERS)
    b.label("right")
    b.give(DONE)
    b.label("refused")
    b.give(REFUSED)


def _straight(b: Builder, kernel: GcmKernel, message: Message) -> VReg:
    """Record the text and return the right tag, on a straight path if the text is short."""
    wanted = b.register("the tag")

    def short(tag: VReg) -> None:
        b.assign(wanted, tag)
        b.emit("jump", Label("wanted"))

    if kernel.instruction_set.partial_registers:
        b.assign(wanted, message.wide(short, False))
    else:
        S, counters = message.begin_straight()
        b.branch("not_below", message.length, most_bytes(kernel) + 1, "long")
        short(message.narrow(S, counters, False))
        b.label("long")
        b.assign(wanted, _by_phases(message, *message.long(S, counters)))
    b.label("wanted")
    return wanted


def _by_phases(message: Message, X: VReg, text: Text) -> VReg:
    """Record the text, then the right tag."""
    decrypt_text(text, X, "tag")
    return message.tag(X)


FUNCTION = Function(
    name="open",
    order=50,
    params=(*ASSOCIATED, TAG, TAG_LENGTH),
    purpose=lambda kernel: (
        "decrypt in to out, check the tag; return 0, 1 if it does not match (out is then zero), or "
        "2 if a length is invalid"
    ),
    build=build,
    statement="open",
    exported=lambda kernel: kernel.messages,
    returns=STATUS,
)
