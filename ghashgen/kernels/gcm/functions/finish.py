"""NAME_finish(ctx, state, tag): a message's tag; its state is erased."""

from ghashgen.ir.builder import Builder
from ghashgen.ir.program import Mem
from ghashgen.kernels.core import Function
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.gcm.parts.params import CONTEXT, DONE, MISPLACED, NEW_TAG, STATUS, STREAM
from ghashgen.kernels.gcm.parts.stream import Stream


def build(b: Builder, kernel: GcmKernel) -> None:
    """Record the function of this kernel."""
    context, state, tag = b.params
    stream = Stream(b, kernel, context, state)
    b.store(Mem(base=tag), stream.tag("misplaced"), "tag")
    stream.erase()
    b.give(DONE)
    b.label("misplaced")
    b.give(MISPLACED)


FUNCTION = Function(
    name="finish",
    order=100,
    params=(CONTEXT, STREAM, NEW_TAG),
    purpose=lambda kernel: "write the tag, zero the state; return 0, or 3 if no message has begun",
    build=build,
    statement="finish",
    exported=lambda kernel: kernel.streams,
    returns=STATUS,
)
