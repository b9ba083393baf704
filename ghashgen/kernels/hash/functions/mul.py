"""NAME_mul(table, x): X = X·H."""

from ghashgen.ir.builder import Builder
from ghashgen.ir.program import Program
from ghashgen.kernels.hash.functions.interface import BLOCK_LABEL, load_block, store_block, times_h
from ghashgen.kernels.hash.kernel import Kernel


def build(kernel: Kernel) -> Program:
    """Return the function for this kernel."""
    b = Builder("mul", ("table", "x"), kernel.widest)
    table, x = b.params
    X = load_block(b, kernel, x, name="X")
    b.label(BLOCK_LABEL)
    result = times_h(b, kernel, table, X)
    b.label("store")
    store_block(b, kernel, x, result)
    return b.program()
