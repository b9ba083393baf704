"""NAME_open_many(ctx, messages, count): many messages under one key decrypted, each by its tag."""

from ghashgen.ir.builder import Builder
from ghashgen.ir.program import Label, VReg
from ghashgen.kernels.core import Function
from ghashgen.kernels.gcm.functions.open import right_tag
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.gcm.parts.clear import clear
from ghashgen.kernels.gcm.parts.lengths import check_lengths
from ghashgen.kernels.gcm.parts.many import RECORD, record_many, take
from ghashgen.kernels.gcm.parts.message import Message
from ghashgen.kernels.gcm.parts.params import CONTEXT, COUNT, DIFFERS, DONE, MESSAGES, REFUSED
from ghashgen.kernels.gcm.parts.records import RECORD_DECLARED, read, report
from ghashgen.kernels.gcm.parts.tag import check_tag_length, difference


def build(b: Builder, kernel: GcmKernel) -> None:
    """Record the function of this kernel."""
    context = b.params[0]

    def one(record: VReg) -> None:
        words = ("iv", "iv_len", "aad", "aad_len", "in", "len", "out")
        message = Message(b, kernel, context, *(read(b, record, word) for word in words))
        with b.part("one"):
            check_lengths(b, message.iv_length, message.aad_length, message.length, "refused")
            check_tag_length(b, kernel, read(b, record, "tag_len"), "refused")
            tag = right_tag(b, kernel, message)
            record = take(b, RECORD)
            given, length = (read(b, record, word) for word in ("tag", "tag_len"))
            b.branch("equal", difference(b, kernel, tag, given, length), 0, "right")
            with b.part("clear"):
                clear(b, kernel, message.out, message.length)
            report(b, take(b, RECORD), DIFFERS)
            b.emit("jump", Label("end"))
            b.label("right")
            report(b, take(b, RECORD), DONE)
            b.emit("jump", Label("end"))
            b.label("refused")
            report(b, take(b, RECORD), REFUSED)
            b.label("end")

    record_many(b, kernel, one, encrypts=False)


FUNCTION = Function(
    name="open_many",
    order=56,
    params=(CONTEXT, MESSAGES, COUNT),
    purpose=lambda kernel: (
        f"open each of count messages{'; not proved yet' if kernel.groups else ''}"
    ),
    build=build,
    statement="open_many",
    types=RECORD_DECLARED,
    exported=lambda kernel: kernel.many != "none",
)
