"""X = GHASH continued over len bytes, zero-padded at the end."""

from ghashgen.ir.builder import Builder
from ghashgen.kernels.given.kernel import GivenKernel
from ghashgen.kernels.given.taken import function, in_order
from ghashgen.kernels.hash.functions import update


def build(b: Builder, kernel: GivenKernel) -> None:
    """Record the function of this kernel."""
    with in_order(b, kernel, "update", update.FUNCTION.roles):
        update.build(b, kernel.hash, late=True)


FUNCTION = function(
    "update", 30, "continue GHASH over len bytes, pad the last block with zeros", build
)
