"""NAME_combine(x, y, p): x = x·p + y, the GHASH part's function
(`kernels.hash.functions.combine`).
"""

from ghashgen.ir.builder import Builder
from ghashgen.kernels.core import Function
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.hash.functions import combine


def build(b: Builder, kernel: GcmKernel) -> None:
    """Record the function of this kernel."""
    combine.build(b, kernel.hash)


FUNCTION = Function(
    name="combine",
    order=140,
    params=combine.FUNCTION.params,
    purpose=lambda kernel: combine.FUNCTION.purpose(kernel.hash),
    build=build,
    statement="combine",
    exported=lambda kernel: kernel.segments,
)
