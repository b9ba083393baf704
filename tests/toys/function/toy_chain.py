"""A toy function of seven parameters: out[i] = x + y + in[0] + … + in[i], and x becomes the last.

NAME_toychain(table, x, y, in, blocks, out, skip) leaves out the first `skip` blocks of `in`. It
states nothing that a prover knows.
"""

from ghashgen.ir.builder import Builder
from ghashgen.ir.program import Label, Mem
from ghashgen.kernels.core import LENGTH, Counted, Direction, Fixed, Function, Param, Table, Word
from ghashgen.kernels.hash.kernel import Kernel


def build(b: Builder, kernel: Kernel) -> None:
    """Record the function of this kernel."""
    _, x, y, source, blocks, out, skip = b.params
    X = b.variable(b.xor(b.load(Mem(base=x)), b.load(Mem(base=y)), "x + y"), "X")
    with b.loop("skipping"):
        b.branch("below", skip, 1, "test")
        b.branch("below", blocks, 1, "store")
        b.assign(source, b.gpr("gpr_add", source, 16))
        b.assign(blocks, b.gpr("gpr_sub", blocks, 1))
        b.assign(skip, b.gpr("gpr_sub", skip, 1))
        b.emit("jump", Label("skipping"))
    b.label("test")
    b.branch("below", blocks, 1, "store")
    with b.loop("chain"):
        b.assign(X, b.xor(X, b.load(Mem(base=source)), "+ in[i]"))
        b.store(Mem(base=out), X)
        b.assign(source, b.gpr("gpr_add", source, 16))
        b.assign(out, b.gpr("gpr_add", out, 16))
        b.assign(blocks, b.gpr("gpr_sub", blocks, 1))
        b.branch("not_below", blocks, 1, "chain")
    b.label("store")
    b.store(Mem(base=x), X)


FUNCTION = Function(
    name="toychain",
    order=35,
    params=(
        Param("table", "table", Table()),
        Param("x", "state", Fixed(16), Direction.INOUT),
        Param("y", "addend", Fixed(16)),
        Param("in", "input", Counted("blocks", 16)),
        Param("blocks", "length", LENGTH, secret=False),
        Param("out", "output", Counted("blocks", 16), Direction.OUT),
        Param("skip", "skip", Word(), secret=False),
    ),
    purpose=lambda kernel: "running sums, a toy",
    build=build,
)
"""The function."""
