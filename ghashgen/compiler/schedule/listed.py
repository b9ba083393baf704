"""The list-scheduled order of a program for a core, by the core's table (`compiler.schedule`)."""

from collections.abc import Sequence
from dataclasses import replace

from ghashgen.arch.core import Abi
from ghashgen.arch.rows import Isa
from ghashgen.arch.uarch import Uarch
from ghashgen.compiler.allocate import allocate
from ghashgen.compiler.liveness import Liveness, liveness
from ghashgen.compiler.schedule import Scheduled
from ghashgen.compiler.schedule.costs import single, work
from ghashgen.compiler.schedule.graph import region_graph
from ghashgen.compiler.schedule.order import Limits, list_order
from ghashgen.compiler.schedule.regions import Region, all_regions, reorder
from ghashgen.cost.simulate import Estimate, estimate
from ghashgen.ir.program import Block, Program
from ghashgen.support.errors import GhashgenError

REACHES = (12, 24, 48)
"""How many operations ahead the list scheduler looks; each value is tried."""

MARGINS = (0, 1, 2, 4, 6)
"""Vector registers held back, tried in this order until the allocation costs nothing."""


def listed(program: Program, isa: Isa, abi: Abi, uarch: Uarch) -> Scheduled:
    """Return the program in the list order that costs no registers, or as written."""
    written = allocate(program, isa, abi)
    spilled, instructions = written.slots - program.slots, len(written.program.ops)

    def fits(order: Program) -> bool:
        """Return whether an order takes no more instructions and slots than as written, as
        easily.
        """
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
    """Return the model's estimate for an order; a loop with its branch, in the steady state."""
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
    """Return the order of a region with the fewest cycles in the model, including as written."""
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

    # Several limits often give the same order; the first of equals is taken.
    return min(dict.fromkeys(orders), key=price)
