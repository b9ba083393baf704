"""NAME_mul(table, x): X = X·H."""

from ghashgen.builder import Builder
from ghashgen.functions.interface import (
    BLOCK,
    entries,
    finish_group,
    key_sum,
    load_block,
    store_block,
)
from ghashgen.ir import Program
from ghashgen.kernel import Kernel
from ghashgen.schemes import aggregate


def build(kernel: Kernel) -> Program:
    """Return the function for this kernel."""
    b = Builder("mul", ("table", "x"), kernel.widest)
    table, x = b.params
    X = load_block(b, kernel, x, name="X")
    b.label(BLOCK)
    key = entries(kernel, table, 1)
    acc = aggregate.accumulate(b, kernel.multiplier, kernel.bit_order, {}, X, key)
    result = finish_group(b, kernel, acc, key_sum(kernel, table, 1))
    b.label("store")
    store_block(b, kernel, x, result)
    return b.program()
