"""X = X·H."""

from ghashgen.ir.builder import Builder
from ghashgen.kernels.given.kernel import GivenKernel
from ghashgen.kernels.given.taken import function, in_order
from ghashgen.kernels.hash.functions import mul


def build(b: Builder, kernel: GivenKernel) -> None:
    """Record the function of this kernel."""
    with in_order(b, kernel, "mul", mul.FUNCTION.roles):
        mul.build(b, kernel.hash)


FUNCTION = function("mul", 20, "multiply the state by H", build)
