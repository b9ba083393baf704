"""The sweep: every candidate coarsely, then the best of each class again, in turns with peers.

What the store already has is not measured again, so an interrupted sweep continues. A `Runner`
measures: this process, or the workers of a lab.
"""

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, field
from typing import Protocol

from ghashgen.choice.questions import Use
from ghashgen.kernels.core import Value
from ghashgen.kernels.families import DEFAULT
from ghashgen.lab.store import Store, complete
from ghashgen.lab.tune.goals import Cell, cells_of, goals, modes_of, served, sizes_to_measure
from ghashgen.lab.tune.measure import COARSE, FINE, Batch, Host, Measure, Stage
from ghashgen.lab.tune.scores import best_first, scores
from ghashgen.lab.tune.space import Candidate, Unit
from ghashgen.records.core import Results


@dataclass(frozen=True)
class Task:
    """A batch, and the kind of machine for it."""

    host: Host
    batch: Batch


@dataclass(frozen=True)
class Outcome:
    """A task's result, or why there is none."""

    task: Task
    measured: Results | None
    failure: str = ""


class Runner(Protocol):
    """Runs measurements."""

    def hosts(self) -> tuple[Host, ...]:
        """Return the available kinds of machine, each once."""
        ...

    def run(self, tasks: Sequence[Task]) -> Generator[Outcome, None, None]:
        """Yield each task's outcome as it comes; closing the iterator cancels the rest."""
        ...


@dataclass(frozen=True)
class Here:
    """This process, on this machine."""

    host: Host
    measure: Measure

    def hosts(self) -> tuple[Host, ...]:
        """Return this machine."""
        return (self.host,)

    def run(self, tasks: Sequence[Task]) -> Generator[Outcome, None, None]:
        """Measure one batch after another; a kernel that fails its check ends the sweep."""
        for task in tasks:
            yield Outcome(task, self.measure(task.batch))


@dataclass(frozen=True)
class Plan:
    """What to measure, and how thoroughly."""

    uses: tuple[Use, ...] = goals()[DEFAULT].uses
    coarse: Stage = COARSE
    fine: Stage = FINE
    finalists: int = 4
    """Finalists for each class, use, instruction set and key size, measured again at the fine
    stage.
    """
    batch: int = 12
    """Candidates in one process of the coarse stage, which an interrupt can lose."""
    fresh: bool = False
    """Measure even what the store already has."""
    budget: float | None = None
    """Seconds after which no new batch starts."""


Bar = Callable[[str, int], AbstractContextManager[Callable[[object], None]]]
"""Shows progress, given a title and the number of items; yields the function to call for each."""


def _no_bar(what: str, total: int) -> AbstractContextManager[Callable[[object], None]]:
    return nullcontext(lambda item: None)


@dataclass
class Swept:
    """How a sweep ended; the figures are in the store."""

    hosts: tuple[Host, ...]
    since: int
    """Measurements up to this number do not count (0 unless fresh)."""
    measured: int = 0
    """Units measured now, at either stage."""
    kept: int = 0
    """Units whose figures the store had."""
    failures: list[str] = field(default_factory=list)
    out_of_time: bool = False


def sweep(
    candidates: Sequence[Candidate],
    runner: Runner,
    store: Store,
    plan: Plan = Plan(),
    bar: Bar = _no_bar,
) -> Swept:
    """Measure candidates on every kind of machine that can run them.

    Raises:
        GhashgenError: a kernel gives a wrong result, or nothing can be measured.
        KeyboardInterrupt: the store holds the finished batches.
    """
    deadline = None if plan.budget is None else time.monotonic() + plan.budget
    swept = Swept(runner.hosts(), store.last() if plan.fresh else 0)
    for stage, select in ((plan.coarse, _coarse), (plan.fine, _fine)):
        tasks: list[Task] = []
        for host in swept.hosts:
            fitting = [item for item in candidates if host.runs(item.unit)]
            chosen = select(fitting, store, host, plan, swept)
            tasks += _tasks(chosen, stage, host, plan, store, swept)
        total = sum(len(task.batch.units) for task in tasks)
        with bar(stage.name, total) as advance:
            _carry_out(tasks, runner, store, plan, swept, deadline, advance)
        if swept.out_of_time:
            break
    return swept


def _coarse(
    fitting: Sequence[Candidate], store: Store, host: Host, plan: Plan, swept: Swept
) -> list[list[Candidate]]:
    """Return every candidate, in groups for one process each."""
    return [list(fitting)]


def _fine(
    fitting: Sequence[Candidate], store: Store, host: Host, plan: Plan, swept: Swept
) -> list[list[Candidate]]:
    """Return the finalists, in a group for each instruction set and key size."""
    figures = store.figures(host, plan.coarse, swept.since)
    groups: list[list[Candidate]] = []
    for own in alike(fitting):
        kept: dict[Candidate, None] = {}
        for use in plan.uses:
            for item in use.classes:
                scored = scores(own, figures, item, use)
                kept |= dict.fromkeys(best_first(scored)[: plan.finalists])
        groups.append([item for item in own if item in kept])
    return groups


def alike(candidates: Sequence[Candidate]) -> list[list[Candidate]]:
    """Return candidates in groups among which one is chosen: the same set and given."""
    groups: dict[tuple[Value, str], list[Candidate]] = {}
    for item in candidates:
        groups.setdefault((item.unit.given, item.unit.isa), []).append(item)
    return list(groups.values())


def wanted(unit: Unit, uses: Sequence[Use]) -> tuple[Cell, ...]:
    """Return what must be measured for a unit: the cells of the uses that it can serve."""
    return cells_of(served(unit.kernel, uses))


def _tasks(
    groups: Sequence[Sequence[Candidate]],
    stage: Stage,
    host: Host,
    plan: Plan,
    store: Store,
    swept: Swept,
) -> Iterator[Task]:
    """Yield what the store lacks; coarse groups in parts, finalists together."""
    figures = store.figures(host, stage, swept.since)
    for group in groups:
        lacking = [
            item
            for item in group
            if not complete(figures, item.unit.code, wanted(item.unit, plan.uses))
        ]
        swept.kept += len(group) - len(lacking)
        step = plan.batch if stage is plan.coarse else max(1, len(lacking))
        for at in range(0, len(lacking), step):
            units = tuple(item.unit for item in lacking[at : at + step])
            sizes, modes = sizes_to_measure(plan.uses), modes_of(plan.uses)
            yield Task(host, Batch(stage, units, sizes, modes))


def _carry_out(
    tasks: Sequence[Task],
    runner: Runner,
    store: Store,
    plan: Plan,
    swept: Swept,
    deadline: float | None,
    advance: Callable[[object], None],
) -> None:
    if not tasks:
        return
    if deadline is not None and time.monotonic() >= deadline:
        swept.out_of_time = True
        return
    left = len(tasks)
    with closing(runner.run(tasks)) as outcomes:
        for outcome in outcomes:
            left -= 1
            units = outcome.task.batch.units
            if outcome.measured is None:
                names = ", ".join(unit.name for unit in units)
                swept.failures.append(f"{names}: {outcome.failure}")
            else:
                task = outcome.task
                store.add(outcome.measured, task.host.method, task.batch.stage.key)
                swept.measured += len(units)
                lost = _unquiet(outcome, plan.uses)
                swept.failures += [w for w in lost if w not in swept.failures]
            for unit in units:
                advance(unit)
            if left and deadline is not None and time.monotonic() >= deadline:
                swept.out_of_time = True
                return


def _unquiet(outcome: Outcome, uses: Sequence[Use]) -> list[str]:
    """Return which cells have no figure because the core was never quiet."""
    measured = outcome.measured
    if measured is None:
        raise AssertionError("a failure has no cells")
    found = {(cell.name, cell.mode, cell.size) for cell in measured.cells if cell.runs}
    lost = {
        (size, mode)
        for unit in outcome.task.batch.units
        for mode, size in wanted(unit, uses)
        if (unit.name, mode, size) not in found
    }
    return [
        f"no quiet moment for some kernels: {mode}, {size} bytes" for size, mode in sorted(lost)
    ]
