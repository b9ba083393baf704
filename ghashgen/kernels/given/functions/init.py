"""The table of H, which comes as two numbers, its big-endian halves, or from a key schedule."""

from ghashgen.ir.builder import Builder
from ghashgen.ir.program import Mem, VReg
from ghashgen.kernels.given.kernel import GivenKernel
from ghashgen.kernels.given.sizes import rounds
from ghashgen.kernels.given.taken import function, given
from ghashgen.kernels.hash.functions.init import fill, pad
from ghashgen.kernels.hash.parts.interface import to_register


def build(b: Builder, kernel: GivenKernel) -> None:
    """Record the function of this kernel."""
    at = given(b, kernel, "init")
    pad(b, kernel.hash, at["table"])
    fill(b, kernel.hash, at["table"], _subkey(b, kernel, at))


def _subkey(b: Builder, kernel: GivenKernel, at: dict[str, VReg]) -> VReg:
    if "halves" in at:
        halves = b.load(Mem(base=at["halves"]), "the halves of H, the first one low")
        return b.swap64(halves, "H")
    state, last = rounds(b, kernel, at["schedule"], b.zero("zeros"))
    return to_register(b, kernel.hash, b.aes_last(state, last, "H, as in memory"), "H")


FUNCTION = function("init", 10, "fill the table of the hash subkey", build)
