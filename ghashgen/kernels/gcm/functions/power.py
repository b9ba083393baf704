"""NAME_power(ctx, y, m): y = H^m, the GHASH part's function (`kernels.hash.functions.power`)."""

from ghashgen.ir.builder import Builder
from ghashgen.kernels.core import Function
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.gcm.parts.params import CONTEXT
from ghashgen.kernels.hash.functions import power


def build(b: Builder, kernel: GcmKernel) -> None:
    """Record the function of this kernel."""
    power.build(b, kernel.hash)


FUNCTION = Function(
    name="power",
    order=130,
    params=(CONTEXT, *power.FUNCTION.params[1:]),
    purpose=lambda kernel: power.FUNCTION.purpose(kernel.hash),
    build=build,
    statement="power",
    exported=lambda kernel: kernel.segments,
)
