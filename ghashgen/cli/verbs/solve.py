"""ghashgen solve: the best order of a kernel's group loop, stored for the schedules NAME-solved."""

from dataclasses import replace
from typing import Any

import click

from ghashgen.arch.x86_64.abi import SYSV
from ghashgen.arch.x86_64.uarch.schedules import is_solved, table_of
from ghashgen.cli.verbs.options import (
    choice_options,
    chosen_kernels,
    json_option,
    print_json,
    progress,
)
from ghashgen.compiler.liveness import liveness
from ghashgen.compiler.pipeline import in_rows
from ghashgen.compiler.schedule import (
    all_regions,
    best_order,
    region_cycles,
    region_graph,
    reorder,
    schedule,
)
from ghashgen.compiler.schedule.costs import single
from ghashgen.compiler.schedule.replay import replay
from ghashgen.compiler.schedule.solutions import Solution, body_hash, dump, folder
from ghashgen.kernels.hash.catalogue import Choice, solved
from ghashgen.kernels.hash.exported import functions
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.hash.parts.interface import GROUP
from ghashgen.support.errors import GhashgenError
from ghashgen.support.extras import require
from ghashgen.support.files import write_whole
from ghashgen.support.paths import require_clone
from ghashgen.support.tables import Table, show

EFFORT = 60.0
"""Deterministic time of the solver for one kernel; about as many seconds."""

MOST = 120
"""Operations of a body beyond which the solver finds nothing in a useful time."""


@click.command("solve")
@choice_options
@click.option("--effort", default=EFFORT, show_default=True, help="Solver's deterministic time.")
@click.option("--write", is_flag=True, help="Store the orders in arch/x86_64/uarch/solved/.")
@json_option
def COMMAND(choice: Choice, effort: float, write: bool, as_json: bool) -> None:
    """Solve the group loop's order for one CPU (needs ghashgen[solve]); default builds never do.

    Without filters, every kernel of the catalogue whose schedule is solved. Cycles are those of the
    model, in order and in the CPU's window: no measurements.
    """
    require("solve")
    if write:
        require_clone("ghashgen/arch/x86_64/uarch/solved")
    given = choice.axes or choice.name
    kernels = chosen_kernels(choice).kernels if given else solved()
    for kernel in kernels:
        if not is_solved(kernel.schedule):
            raise GhashgenError(
                f"{kernel.name} has no solved schedule", "choose --schedule NAME-solved"
            )
    results = []
    with progress("solve", len(kernels)) as advance:
        for kernel in kernels:
            results.append(_solve(kernel, effort, write))
            advance(kernel)
    if as_json:
        print_json(results)
    else:
        _print(results)


def _solve(kernel: Kernel, effort: float, write: bool) -> dict[str, Any]:
    """Solve one kernel; return what the model says of its orders."""
    # Heavy, and missing where nobody solves.
    from ghashgen.compiler.schedule.solver import solve

    isa, uarch = kernel.set, table_of(kernel.schedule)
    program = in_rows(functions()["update"].program(kernel), kernel)
    region = next(
        r for r in all_regions(program, isa) if program.blocks[r.block].label == GROUP and r.loops
    )
    block, live = program.blocks[region.block], liveness(program, isa.rows)
    ties = region_graph(program, region, isa, live)
    if len(ties.ops) > MOST:
        raise GhashgenError(
            f"{kernel.name}: the loop has {len(ties.ops)} operations, more than {MOST}",
            "choose fewer blocks, or the schedule without -solved",
        )
    items = [single(op, isa.rows, uarch) for op in ties.ops]
    found = solve(ties, items, uarch, isa.vector_registers, effort)
    rest = range(len(found.order), len(block.ops))
    solution = Solution(
        kernel=kernel.name,
        schedule=kernel.schedule,
        function=program.name,
        block=block.label,
        body=body_hash(block),
        order=(*found.order, *rest),
        cycles=found.cycles,
        least=found.least,
        solver=found.solver,
    )
    listed = best_order(program, region, isa, uarch, isa.vector_registers, live)
    orders = {"written": range(len(listed)), "list": listed, "solved": found.order}
    ordered = replace(
        program,
        blocks=tuple(reorder(b, region, found.order) if b is block else b for b in program.blocks),
    )
    replay(program, ordered, isa)
    schedule(program, isa, SYSV, kernel.schedule, solution)
    if write:
        write_whole(folder() / f"{kernel.name}.json", dump(solution))
    models = {
        name: region_cycles(block, region, tuple(order), isa, uarch)
        for name, order in orders.items()
    }
    return {
        "kernel": kernel.name,
        "cycles": found.cycles,
        "least": found.least,
        "best": found.cycles == found.least,
        "solver": found.solver,
        "stored": write,
        "model": {
            name: {"windowed": round(e.windowed, 3), "in_order": e.in_order}
            for name, e in models.items()
        },
    }


def _print(results: list[dict[str, Any]]) -> None:
    rows = []
    for result in results:
        for name, cycles in result["model"].items():
            said = ""
            if name == "solved":
                proof = "proved best" if result["best"] else f"no order below {result['least']}"
                said = f"{result['cycles']}, {proof}{', stored' if result['stored'] else ''}"
            figures = (f"{cycles['windowed']:.2f}", f"{cycles['in_order']:.2f}")
            rows.append((result["kernel"], name, *figures, said))
    title = "Cycles of a turn of the group loop in the model, not measurements"
    columns = ("kernel", "order", ">in the window", ">in order", "solver")
    show(Table(title, columns, tuple(rows), prose="solver", each={"figures": "model"}))
