"""schedule: the order of independent operations, of a program in the ISA's rows.

`written` leaves them as they are. A microarchitecture's name asks for the list scheduler over its
table (`order`), for every region (`regions`) of every block. Of the orders that it finds under
several limits each region takes the one that needs the fewest cycles in the model of a core
(`cost.simulate`), with its window, then in order; the one as written if none is better. An order
may not cost registers: if the allocated function takes more instructions than as written, the
limits become tighter, and at last it stays as written. It may touch more registers, which a kernel
that wipes then wipes and Win64 saves, outside the loops. `replay` checks whatever comes out,
without any of this.

An out-of-order core gains little from it in a loop of GHASH alone (docs/scheduling.md). It is kept
for loops that stitch GHASH into another computation, as AES-GCM's, where two kinds of operations
compete for ports and registers and only an order can say which comes first.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ghashgen.arch.core import Abi
from ghashgen.arch.rows import Isa
from ghashgen.arch.schedules import WRITTEN, table_of
from ghashgen.arch.uarch import Uarch
from ghashgen.compiler.allocate import allocate
from ghashgen.compiler.liveness import Liveness, liveness
from ghashgen.compiler.schedule.costs import single, work
from ghashgen.compiler.schedule.graph import region_graph
from ghashgen.compiler.schedule.order import Limits, list_order
from ghashgen.compiler.schedule.regions import Region, all_regions, reorder
from ghashgen.cost.simulate import Estimate, estimate
from ghashgen.ir.program import Block, Program
from ghashgen.support.errors import GhashgenError

REACHES = (12, 24, 48)
"""How many operations ahead the list scheduler looks, each tried."""

MARGINS = (0, 1, 2, 4, 6)
"""Vector registers held back, tried in this order until the allocation costs nothing."""


@dataclass(frozen=True)
class Scheduled:
    """A program in its order, and how that was found, in words; "" for one as written."""

    program: Program
    account: str


def schedule(program: Program, isa: Isa, abi: Abi, name: str = WRITTEN) -> Scheduled:
    """Return the program in the order of the schedule `name`.

    Raises:
        GhashgenError: there is no such schedule.
    """
    if name == WRITTEN:
        return Scheduled(program, "")
    uarch = table_of(name)

    written = allocate(program, isa, abi)
    spilled, instructions = written.slots - program.slots, len(written.program.ops)

    def fits(order: Program) -> bool:
        """Whether an order takes no more instructions and slots than as written, as easily."""
        try:
            found = allocate(order, isa, abi, max_slots=spilled, easily=written.easy)
        except GhashgenError:
            return False
        return len(found.program.ops) <= instructions

    for margin in MARGINS:
        found = _ordered(program, isa, uarch, isa.vector_registers - margin)
        if found != program and fits(found):
            held = f", {margin} registers held back" if margin else ""
            return Scheduled(found, f"list order{held}")
    return Scheduled(program, "as written is no worse")


def region_cycles(
    block: Block, region: Region, order: Sequence[int], isa: Isa, uarch: Uarch
) -> Estimate:
    """Return what the model says of an order; a loop with its branch, in the steady state."""
    ops = [block.ops[region.start + i] for i in order]
    tail = block.ops[region.end :] if region.loops else ()
    return estimate(work([*ops, *tail], isa.rows, uarch), uarch, region.loops)


def _ordered(program: Program, isa: Isa, uarch: Uarch, registers: int) -> Program:
    """Return the program with each region in its best order."""
    live = liveness(program, isa.rows)
    blocks = list(program.blocks)
    for region in all_regions(program, isa):
        order = best_order(program, region, isa, uarch, registers, live)
        blocks[region.block] = reorder(blocks[region.block], region, order)
    return replace(program, blocks=tuple(blocks))


def best_order(
    program: Program, region: Region, isa: Isa, uarch: Uarch, registers: int, live: Liveness
) -> tuple[int, ...]:
    """Return the order of a region with the fewest cycles in the model, as written included."""
    block = program.blocks[region.block]
    ties = region_graph(program, region, isa, live)
    items = [single(op, isa.rows, uarch) for op in ties.ops]
    written = tuple(range(len(ties.ops)))
    orders = [written] + [
        list_order(ties, items, uarch, Limits(registers, reach), overlap).order
        for reach in REACHES
        for overlap in ((False, True) if region.loops else (False,))
    ]

    def price(order: tuple[int, ...]) -> tuple[float, float]:
        cycles = region_cycles(block, region, order, isa, uarch)
        return cycles.windowed, cycles.in_order

    # Several limits often lead to one order; the first of equals is taken.
    return min(dict.fromkeys(orders), key=price)
