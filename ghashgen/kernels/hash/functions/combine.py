"""NAME_combine(x, y, p): x = x·p + y, which appends a segment's hash y to x.

`kernels.hash.functions.power` explains p = H^m and y. p has the form of the hash subkey h; combine
makes a key operand from it as init does from h. For GHASH that is also the form of the state. For
POLYVAL, where dot(a, b) is a·b·x^-128, h is twisted already.
"""

from ghashgen.ir.builder import Builder
from ghashgen.kernels.core import Function, Param
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.hash.parts.interface import load_block, store_block
from ghashgen.kernels.hash.parts.keys import key_of, key_operand, times
from ghashgen.kernels.hash.parts.params import ONE_BLOCK, STATE


def build(b: Builder, kernel: Kernel) -> None:
    """Record the function of this kernel."""
    x, y, p = b.params
    P = load_block(b, kernel, p, name="P")
    b.about("key of P")
    key = key_of(b, kernel, key_operand(b, kernel, P))
    b.about("")
    X = load_block(b, kernel, x, name="X")
    b.about("X·P")
    moved = times(b, kernel, X, key)
    b.about("")
    Y = load_block(b, kernel, y, name="Y")
    store_block(b, kernel, x, b.xor(moved, Y, "X·P + Y"))


FUNCTION = Function(
    name="combine",
    order=50,
    params=(STATE, Param("y", "addend", ONE_BLOCK), Param("p", "factor", ONE_BLOCK)),
    purpose=lambda kernel: (
        f"x = {kernel.definition.product('x', 'p')} + y, where p = H^m from power, "
        f"and y is the {kernel.definition.name} of a segment of m blocks from state 0"
    ),
    build=build,
    statement="combine",
    exported=lambda kernel: kernel.segments,
)
