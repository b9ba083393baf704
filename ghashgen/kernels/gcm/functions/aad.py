"""NAME_aad(ctx, state, aad, aad_len): a message's next piece of AAD, before its text."""

from ghashgen.kernels.core import Function
from ghashgen.kernels.gcm.parts.params import AAD, AAD_LENGTH, CONTEXT, STATUS, STREAM
from ghashgen.kernels.gcm.parts.pieces import build_aad

FUNCTION = Function(
    name="aad",
    order=70,
    params=(CONTEXT, STREAM, AAD, AAD_LENGTH),
    purpose=lambda kernel: (
        "take more AAD; return 0, 2 if it is too long, or 3 if no message has begun or its text has"
    ),
    build=build_aad,
    statement="aad",
    exported=lambda kernel: kernel.streams,
    returns=STATUS,
)
