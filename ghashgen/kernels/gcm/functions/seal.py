"""NAME_seal(ctx, iv, iv_len, aad, aad_len, in, len, out, tag): a message encrypted, and its tag."""

from ghashgen.ir.builder import Builder
from ghashgen.ir.program import Mem, VReg
from ghashgen.kernels.core import Function
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.gcm.parts.directions import encrypt_text
from ghashgen.kernels.gcm.parts.lengths import check_lengths
from ghashgen.kernels.gcm.parts.message import Message
from ghashgen.kernels.gcm.parts.params import ASSOCIATED, DONE, NEW_TAG, REFUSED, STATUS
from ghashgen.kernels.gcm.parts.short import most_bytes
from ghashgen.kernels.gcm.parts.text import Text


def build(b: Builder, kernel: GcmKernel) -> None:
    """Record the function of this kernel."""
    *given, tag = b.params
    message = Message(b, kernel, *given)
    check_lengths(b, message.iv_length, message.aad_length, message.length, "refused")

    def short(sealed: VReg) -> None:
        b.store(Mem(base=tag), sealed, "tag")
        b.give(DONE)

    if kernel.instruction_set.partial_registers:
        sealed = message.wide(short, True)
    elif kernel.short:
        S, counters = message.begin_straight()
        b.branch("not_below", message.length, most_bytes(kernel) + 1, "long")
        short(message.narrow(S, counters, True))
        b.label("long")
        sealed = _by_phases(message, *message.long(S, counters))
    else:
        X, text = message.begin()
        b.branch("equal", message.length, 0, "tag")
        sealed = _by_phases(message, X, text)
    b.store(Mem(base=tag), sealed, "tag")
    b.give(DONE)
    b.label("refused")
    b.give(REFUSED)


def _by_phases(message: Message, X: VReg, text: Text) -> VReg:
    """Record the text, then the tag."""
    encrypt_text(text, X, "tag")
    return message.tag(X)


FUNCTION = Function(
    name="seal",
    order=40,
    params=(*ASSOCIATED, NEW_TAG),
    purpose=lambda kernel: (
        "encrypt in to out, make the tag of aad and out; return 0, or 2 if a length is invalid"
    ),
    build=build,
    statement="seal",
    exported=lambda kernel: kernel.messages,
    returns=STATUS,
)
