"""A toy function that returns a number: the top 31 bits of the sum of in[i] - x, low halves each.

NAME_toyprobe(table, x, in, blocks, y, z, mark) returns `mark` from 2^16 on, and below that -1 where
there is no block. It states nothing that a prover knows.
"""

from ghashgen.ir.builder import Builder
from ghashgen.ir.program import Mem
from ghashgen.kernels.core import LENGTH, Counted, Fixed, Function, Param, Result, Table, Word
from ghashgen.kernels.hash.kernel import Kernel


def build(b: Builder, kernel: Kernel) -> None:
    """Record the function of this kernel."""
    _, x, source, blocks, _, _, mark = b.params
    b.branch("below", mark, 2**16, "look")
    b.give(mark)
    b.label("look")
    b.branch("not_equal", blocks, 0, "some")
    b.give(2**32 - 1, "no block")
    b.label("some")
    X = b.gpr("gpr_load64", Mem(base=x))
    total = b.gpr("gpr_const", 0)
    with b.loop("block"):
        difference = b.gpr("gpr_minus", X, b.gpr("gpr_load64", Mem(base=source)), note="x - in[i]")
        b.assign(total, b.gpr("gpr_minus", total, difference))
        b.assign(source, b.gpr("gpr_add", source, 16))
        b.assign(blocks, b.gpr("gpr_sub", blocks, 1))
        b.branch("not_equal", blocks, 0, "block")
    b.give(b.gpr("gpr_shr", total, 33))


FUNCTION = Function(
    name="toyprobe",
    order=45,
    params=(
        Param("table", "table", Table()),
        Param("x", "state", Fixed(16)),
        Param("in", "input", Counted("blocks", 16)),
        Param("blocks", "length", LENGTH, secret=False),
        Param("y", "unused", Fixed(16)),
        Param("z", "unused", Fixed(16)),
        Param("mark", "mark", Word(), secret=False),
    ),
    purpose=lambda kernel: "a number, a toy",
    build=build,
    returns=Result("status"),
)
"""The function."""
