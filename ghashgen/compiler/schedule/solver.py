"""The best order of a loop body, by CP-SAT (ortools): what `ghashgen solve` runs and stores.

The model is that of `cost.simulate` in order, without a window: one start a cycle for every
operation; operands are ready; in no cycle do more uops start than their ports take, for every union
of port sets (which suffices, by Hall's theorem); no more fused uops than the front end issues; no
more values live than there are registers. To be least is the turn: to the last start of a body, or
what its carried values need to come round. One worker, a fixed seed and a limit in deterministic
time: the same input gives the same answer from the same version of the solver.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from ghashgen.arch.uarch import Uarch
from ghashgen.compiler.schedule.graph import Graph
from ghashgen.compiler.schedule.order import Limits, Pressure, list_order
from ghashgen.cost.simulate import Work, open_uops
from ghashgen.ir.program import RegClass, VReg
from ghashgen.support.errors import GhashgenError
from ghashgen.support.extras import require

SEED = 1
REACHES = (12, 24, 48)
"""Reaches of the list orders, of which the shortest is where the search starts."""


@dataclass(frozen=True)
class Solved:
    """What the solver found."""

    order: tuple[int, ...]
    cycles: int
    least: int
    """The solver's lower bound."""
    solver: str


def _ortools() -> Any:
    require("solve")
    from ortools.sat.python import cp_model

    return version("ortools"), cp_model


def solve(
    graph: Graph, work: Sequence[Work], uarch: Uarch, registers: int, effort: float
) -> Solved:
    """Return the best order found for a loop body within `effort` of deterministic time.

    Raises:
        GhashgenError: ortools is missing, or nothing was found.
    """
    release, cp = _ortools()
    tries = [list_order(graph, work, uarch, Limits(registers, r), False) for r in REACHES]
    first = min(tries, key=lambda found: max(found.start))
    # In the list order a body's last value is ready before the next body starts.
    horizon = max(s + item.latency for s, item in zip(first.start, work, strict=True))
    model = cp.CpModel()
    starts = [model.new_int_var(0, horizon, f"s{i}") for i in range(len(work))]
    turn = model.new_int_var(1, horizon + 1, "turn")
    for i, found in enumerate(graph.before):
        model.add(turn >= starts[i] + 1)
        for j in sorted(found):
            wait = work[j].latency if j in graph.feeds[i] else 0
            model.add(starts[i] >= starts[j] + wait)
    _carry(model, graph, work, starts, turn)
    _ports(cp, model, work, uarch, starts)
    _registers(model, graph, starts, horizon, registers)
    for i, cycle in enumerate(first.start):
        model.add_hint(starts[i], cycle)
    model.add_hint(turn, horizon)
    model.add(turn >= floor(graph, work, uarch))
    model.minimize(turn)
    solver = cp.CpSolver()
    parameters = solver.parameters
    parameters.num_workers, parameters.random_seed = 1, SEED
    parameters.max_deterministic_time = effort
    status = solver.solve(model)
    if status not in (cp.OPTIMAL, cp.FEASIBLE):
        raise GhashgenError(
            f"no order found ({solver.status_name(status)})",
            "raise --effort, or solve a smaller body",
        )
    cycles = [solver.value(start) for start in starts]
    return Solved(
        order=_sequence(graph, cycles),
        cycles=round(solver.objective_value),
        least=round(solver.best_objective_bound),
        solver=f"ortools {release} CP-SAT, seed {SEED}, deterministic time {effort:g}",
    )


def floor(graph: Graph, work: Sequence[Work], uarch: Uarch) -> int:
    """Return cycles that no order of the body goes below, by ports between heads and tails.

    Operations that start no earlier than h, from whose start to the end of the body there are at
    least t cycles, and whose w uops need a set of p ports, take h + ceil(w / p) - 1 + t. The solver
    finds this bound late; it holds for every solution.
    """
    heads = [0] * len(work)
    tails = [1] * len(work)
    for i, found in enumerate(graph.before):
        for j in found:
            wait = work[j].latency if j in graph.feeds[i] else 0
            heads[i] = max(heads[i], heads[j] + wait)
    for i in reversed(range(len(work))):
        for j in graph.before[i]:
            wait = work[j].latency if j in graph.feeds[i] else 0
            tails[j] = max(tails[j], wait + tails[i])
    uops = open_uops(work, uarch)
    sets = {u.ports for found in uops for u in found}
    best = max(heads[i] + tails[i] for i in range(len(work)))
    for ports in sorted(sets, key=sorted):
        count = [sum(u.count for u in found if u.ports <= ports) for found in uops]
        for head in sorted(set(heads)):
            for tail in sorted(set(tails)):
                held = sum(
                    n
                    for n, h, t in zip(count, heads, tails, strict=True)
                    if h >= head and t >= tail
                )
                if held:
                    best = max(best, head - (-held // len(ports)) - 1 + tail)
    return best


def _carry(
    model: Any, graph: Graph, work: Sequence[Work], starts: Sequence[Any], turn: Any
) -> None:
    """A value of the turn before is ready when its first readers start."""
    made = {v.reg: v.maker for v in graph.values if v.lives_on and v.maker >= 0}
    for value in graph.values:
        if value.maker < 0 and value.reg in made:
            maker = made[value.reg]
            for reader in value.readers:
                model.add(starts[reader] + turn >= starts[maker] + work[maker].latency)


def _ports(cp: Any, model: Any, work: Sequence[Work], uarch: Uarch, starts: Sequence[Any]) -> None:
    """Ports and issue slots of every cycle."""
    uops = open_uops(work, uarch)
    sets = sorted({u.ports for found in uops for u in found}, key=sorted)
    unions: set[frozenset[str]] = set()
    for ports in sets:
        unions |= {ports} | {ports | other for other in unions}
    at = [model.new_fixed_size_interval_var(start, 1, f"i{i}") for i, start in enumerate(starts)]
    for union in sorted(unions, key=sorted):
        intervals, demands = [], []
        for i, found in enumerate(uops):
            for item in found:
                if item.ports <= union:
                    # Several uops on one port take it for as many cycles.
                    long = item.count if len(item.ports) == 1 else 1
                    intervals.append(
                        at[i]
                        if long == 1
                        else model.new_fixed_size_interval_var(starts[i], long, "")
                    )
                    demands.append(item.count // long)
        if len(union) == 1 and set(demands) == {1}:
            model.add_no_overlap(intervals)
        else:
            model.add_cumulative(intervals, demands, len(union))
    model.add_cumulative(at, [item.fused for item in work], uarch.issue)


def _registers(
    model: Any, graph: Graph, starts: Sequence[Any], horizon: int, registers: int
) -> None:
    """A value takes a register from its maker's start to its last reader's."""
    intervals = []
    for k, value in enumerate(graph.values):
        if not isinstance(value.reg, VReg) or value.reg.cls is not RegClass.VEC:
            continue
        if value.maker < 0 and not value.readers and not value.lives_on:
            continue
        begin = starts[value.maker] if value.maker >= 0 else 0
        end = model.new_int_var(0, horizon + 1, f"e{k}")
        for reader in value.readers:
            model.add(end >= starts[reader])
        if value.readers and not value.lives_on:
            model.add_max_equality(end, [begin, *(starts[reader] for reader in value.readers)])
        if value.lives_on:
            model.add(end == horizon + 1)
        size = model.new_int_var(0, horizon + 1, f"l{k}")
        intervals.append(model.new_interval_var(begin, size, end, f"v{k}"))
    model.add_cumulative(intervals, [1] * len(intervals), registers)


def _sequence(graph: Graph, cycles: Sequence[int]) -> tuple[int, ...]:
    """Return the operations by cycle; within one, what frees registers first."""
    pressure, placed, out = Pressure(graph), set[int](), list[int]()
    left = list(range(len(cycles)))
    while left:
        free = [i for i in left if graph.before[i] <= placed]
        chosen = min(free, key=lambda i: (cycles[i], pressure.change(i), i))
        pressure.place(chosen)
        placed.add(chosen)
        out.append(chosen)
        left.remove(chosen)
    return tuple(out)
