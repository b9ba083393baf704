"""The table of H, which comes as two numbers: its big-endian halves."""

from ghashgen.ir.builder import Builder
from ghashgen.ir.program import Mem
from ghashgen.kernels.given.kernel import GivenKernel
from ghashgen.kernels.given.taken import function, given
from ghashgen.kernels.hash.functions.init import fill, pad


def build(b: Builder, kernel: GivenKernel) -> None:
    """Record the function of this kernel."""
    at = given(b, kernel, "init")
    pad(b, kernel.hash, at["table"])
    halves = b.load(Mem(base=at["halves"]), "the halves of H, the first one low")
    fill(b, kernel.hash, at["table"], b.swap64(halves, "H"))


FUNCTION = function("init", 10, "fill the table from the halves of the hash subkey", build)
