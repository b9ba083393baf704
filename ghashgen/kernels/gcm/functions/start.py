"""NAME_start(ctx, state, iv, iv_len): begins a message in pieces."""

from ghashgen.ir.builder import Builder
from ghashgen.kernels.aes.counters import next_block
from ghashgen.kernels.core import Function
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.gcm.parts.lengths import check_iv
from ghashgen.kernels.gcm.parts.params import (
    CONTEXT,
    DONE,
    IV,
    IV_LENGTH,
    NEW_STREAM,
    REFUSED,
    STATUS,
)
from ghashgen.kernels.gcm.parts.start import first_counter
from ghashgen.kernels.gcm.parts.stream import ASSOCIATED, COUNTER, MASK, PHASE, Stream
from ghashgen.kernels.gcm.parts.tag import mask_of


def build(b: Builder, kernel: GcmKernel) -> None:
    """Record the function of this kernel."""
    context, state, iv, iv_length = b.params
    stream = Stream(b, kernel, context, state)
    check_iv(b, iv_length, "refused")
    J0 = first_counter(b, kernel, context, iv, iv_length)
    stream.erase()
    b.store(stream.at(COUNTER), next_block(b, J0), "the counter block of the text")
    b.store(stream.at(MASK), mask_of(b, kernel, context, J0), "E_K(J_0)")
    stream.set_number(PHASE, b.gpr("gpr_const", ASSOCIATED), "AAD may come")
    b.give(DONE)
    b.label("refused")
    b.give(REFUSED)


FUNCTION = Function(
    name="start",
    order=60,
    params=(CONTEXT, NEW_STREAM, IV, IV_LENGTH),
    purpose=lambda kernel: "begin a message under this IV; return 0, or 2 if iv_len is invalid",
    build=build,
    statement="start",
    exported=lambda kernel: kernel.streams,
    returns=STATUS,
)
