"""schedule: orders the independent operations of a program in the ISA's rows.

`written` keeps the order. With a microarchitecture's name, the list scheduler (`listed`) uses its
table for every region (`regions`) of every block and tries several limits. Each region takes the
order with the fewest cycles in the model of a core (`cost.simulate`), first with its window, then
in order; or the written order if none is better.

An order must not cost registers: if the allocated function takes more instructions than as written,
the limits become tighter, and at last the written order stays. It may touch more registers, which a
kernel that wipes then wipes and Win64 saves, outside the loops. `replay` verifies every result
independently.

An out-of-order core gains little from this in a loop of GHASH alone (docs/scheduling.md). It is for
loops that stitch GHASH into another computation, such as AES-GCM, where two kinds of operations
compete for ports and registers.
"""

from dataclasses import dataclass

from ghashgen.arch.core import Abi
from ghashgen.arch.rows import Isa
from ghashgen.arch.schedules import WRITTEN, table_of
from ghashgen.ir.program import Program


@dataclass(frozen=True)
class Scheduled:
    """A program in its order, and in words how that was found; "" if as written."""

    program: Program
    account: str


def schedule(program: Program, isa: Isa, abi: Abi, name: str = WRITTEN) -> Scheduled:
    """Return the program in the order of the schedule `name`.

    Raises:
        GhashgenError: the schedule is unknown.
    """
    if name == WRITTEN:
        return Scheduled(program, "")
    # Imported late: most kernels stay as written and need no model of a core.
    from ghashgen.compiler.schedule.listed import listed

    return listed(program, isa, abi, table_of(name))
