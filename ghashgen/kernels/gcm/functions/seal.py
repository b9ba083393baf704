"""NAME_seal(ctx, iv, iv_len, aad, aad_len, in, len, out, tag): a message encrypted, and its tag."""

from ghashgen.ir.builder import Builder
from ghashgen.ir.program import Mem, VReg
from ghashgen.kernels.core import Function
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.gcm.parts.lengths import check_lengths
from ghashgen.kernels.gcm.parts.message import Message
from ghashgen.kernels.gcm.parts.params import ASSOCIATED, DONE, NEW_TAG, REFUSED, STATUS
from ghashgen.kernels.gcm.parts.ways import SEAL


def build(b: Builder, kernel: GcmKernel) -> None:
    """Record the function of this kernel."""
    *given, tag = b.params
    message = Message(b, kernel, *given)
    check_lengths(b, message.iv_length, message.aad_length, message.length, "refused")

    def end(sealed: VReg) -> None:
        b.store(Mem(base=tag), sealed, "tag")
        b.give(DONE)

    end(message.record(end, True))
    b.label("refused")
    b.give(REFUSED)


FUNCTION = Function(
    name="seal",
    order=40,
    params=(*ASSOCIATED, NEW_TAG),
    purpose=lambda kernel: (
        "encrypt in to out, make the tag of aad and out; return 0, or 2 if a length is invalid"
    ),
    build=build,
    statement="seal",
    enters=lambda kernel: ("open", SEAL) if kernel.compact else None,
    exported=lambda kernel: kernel.messages,
    returns=STATUS,
)
