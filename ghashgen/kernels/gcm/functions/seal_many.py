"""NAME_seal_many(ctx, messages, count): many messages under one key encrypted, and their tags."""

from ghashgen.ir.builder import Builder
from ghashgen.ir.program import Label, Mem, VReg
from ghashgen.kernels.core import Function
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.gcm.parts.lengths import check_lengths
from ghashgen.kernels.gcm.parts.many import RECORD, record_many, take
from ghashgen.kernels.gcm.parts.message import Message
from ghashgen.kernels.gcm.parts.params import CONTEXT, COUNT, DONE, MESSAGES, REFUSED
from ghashgen.kernels.gcm.parts.records import RECORD_DECLARED, read, report


def build(b: Builder, kernel: GcmKernel) -> None:
    """Record the function of this kernel."""
    context = b.params[0]

    def end(sealed: VReg) -> None:
        record = take(b, RECORD)
        b.store(Mem(base=read(b, record, "tag")), sealed, "tag")
        report(b, record, DONE)
        b.emit("jump", Label("end"))

    def one(record: VReg) -> None:
        words = ("iv", "iv_len", "aad", "aad_len", "in", "len", "out")
        message = Message(b, kernel, context, *(read(b, record, word) for word in words))
        with b.part("one"):
            check_lengths(b, message.iv_length, message.aad_length, message.length, "refused")
            end(message.record(end, True))
            b.label("refused")
            report(b, take(b, RECORD), REFUSED)
            b.label("end")

    record_many(b, kernel, one, encrypts=True)


FUNCTION = Function(
    name="seal_many",
    order=55,
    params=(CONTEXT, MESSAGES, COUNT),
    purpose=lambda kernel: (
        f"seal each of count messages{'; not proved yet' if kernel.groups else ''}"
    ),
    build=build,
    statement="seal_many",
    types=RECORD_DECLARED,
    exported=lambda kernel: kernel.many != "none",
)
