"""NAME_decrypt_more(ctx, state, in, out, len): a message's next piece of text, decrypted."""

from ghashgen.ir.builder import Builder
from ghashgen.kernels.core import Function
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.gcm.parts.params import MORE, STATUS
from ghashgen.kernels.gcm.parts.pieces import build_text


def build(b: Builder, kernel: GcmKernel) -> None:
    """Record the function of this kernel."""
    build_text(b, kernel, encrypts=False)


FUNCTION = Function(
    name="decrypt_more",
    order=90,
    params=MORE,
    purpose=lambda kernel: (
        "decrypt more text; return 0, 2 if it is too long, or 3 if no message has begun"
    ),
    build=build,
    statement="decrypt_more",
    exported=lambda kernel: kernel.streams,
    returns=STATUS,
)
