"""NAME_mul(table, x): X = X·H."""

from ghashgen.ir.builder import Builder
from ghashgen.kernels.core import Function
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.hash.parts.interface import BLOCK_LABEL, load_block, store_block, times_h
from ghashgen.kernels.hash.parts.params import STATE, TABLE


def build(b: Builder, kernel: Kernel) -> None:
    """Record the function of this kernel."""
    table, x = b.params
    X = load_block(b, kernel, x, name="X")
    b.label(BLOCK_LABEL)
    result = times_h(b, kernel, table, X)
    b.label("store")
    store_block(b, kernel, x, result)


FUNCTION = Function(
    name="mul",
    order=20,
    params=(TABLE, STATE),
    purpose=lambda kernel: f"x = {kernel.definition.product('x', 'H')}",
    build=build,
    statement="mul",
)
