"""NAME_hash(ctx, x, in, len): X = GHASH continued over len bytes, zero-padded at the end.

A message whose text is processed in segments needs this for its AAD, its length block and a hashed
IV. It is the GHASH part's update; the GHASH table begins the context.
"""

from ghashgen.ir.builder import Builder
from ghashgen.kernels.core import Function
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.gcm.parts.params import CONTEXT
from ghashgen.kernels.hash.functions import update
from ghashgen.kernels.hash.parts.params import INPUT, INPUT_LENGTH, STATE


def build(b: Builder, kernel: GcmKernel) -> None:
    """Record the function of this kernel."""
    update.build(b, kernel.hash)


FUNCTION = Function(
    name="hash",
    order=120,
    params=(CONTEXT, STATE, INPUT, INPUT_LENGTH),
    purpose=lambda kernel: update.FUNCTION.purpose(kernel.hash),
    build=build,
    statement="update",
    exported=lambda kernel: kernel.segments,
)
