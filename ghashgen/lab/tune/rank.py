"""Ranks kernels that no machine here can run, by the port model: a model, never a measurement.

For each size the emulator lists the instructions that a call executes (`calls`), and a
microarchitecture's table gives the least cycles for its ports and front end. Latency is ignored, so
the figure is a lower bound, which is further off for shorter messages.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product

from ghashgen.arch.decoder import Native
from ghashgen.arch.registry import uarch as uarch_named
from ghashgen.arch.registry import uarches
from ghashgen.arch.uarch import Uarch
from ghashgen.choice.chosen import MODEL
from ghashgen.choice.questions import Use
from ghashgen.choice.rule import scored, take
from ghashgen.cost.bound import port_bound
from ghashgen.kernels.families import facet_of, functions_of
from ghashgen.lab.tune.choose import Decision
from ghashgen.lab.tune.goals import Cell, cells_of, served
from ghashgen.lab.tune.space import Candidate
from ghashgen.lab.tune.sweep import alike
from ghashgen.run.arguments import Values, arguments
from ghashgen.run.emulate import CallResult, Emulator
from ghashgen.run.emulate.calls import call_of
from ghashgen.run.emulate.image import Image
from ghashgen.run.emulate.outcome import decode_run
from ghashgen.support.errors import GhashgenError

_BUDGET = 10_000_000
"""Instruction limit; the longest message takes some hundred thousand."""

_LONGEST = 65536
"""Bytes; a longer message only adds turns of the loop, which dominates by then."""

_HOLES = 0.01
"""Fraction of the longest message's instructions that may lack table data. Such instructions are
left out of the figure, which favours kernels with many of them.
"""

Executed = list[Native]


def executed(
    emulator: Emulator, candidate: Candidate, cells: Sequence[Cell]
) -> dict[Cell, Executed]:
    """Return the instructions that are executed in each cell.

    They are in the order of straight runs, each repeated as often as it was executed; a port bound
    does not depend on the order.

    Raises:
        GhashgenError: the emulator is missing, or the code faults in it.
    """
    unit = candidate.unit
    image = emulator.load(unit.obj)
    functions = functions_of(candidate.kernel)

    def made(function: str, each: Sequence[Values]) -> list[CallResult]:
        exported, align = functions[function], unit.table_align
        given = [arguments(exported, values, unit.kernel.layout.size, align) for values in each]
        calls = [replace(call_of(call, "sysv"), budget=_BUDGET) for call in given]
        answers = emulator.call_many(image, f"{unit.name}_{function}", calls)
        for answer in answers:
            if not answer.outcome.ok:
                cause = f"{unit.name} fails in the emulator: {answer.outcome}"
                raise GhashgenError(cause, "run ghashgen validate for this kernel")
        return answers

    results = facet_of(unit.kernel.family, "calls")(made, unit.kernel, cells)
    return {
        cell: [instruction for one in some for instruction in _instructions(image, one.runs)]
        for cell, some in zip(cells, results, strict=True)
    }


def _instructions(image: Image, runs: Iterable[tuple[int, int, int]]) -> Executed:
    return [
        instruction
        for start, last, times in runs
        for instruction in times * decode_run(image, start, last)
    ]


def suited(names: Iterable[str], code: Iterable[Native]) -> Uarch | None:
    """Return the first microarchitecture of these names that has what the instructions need."""
    instructions = list(code)
    return next((u for n in names if not (u := uarch_named(n)).lacks(instructions)), None)


def modelled(use: Use) -> Use:
    """Return a use as the model scores it, without messages longer than `_LONGEST`."""
    return replace(
        use,
        classes=tuple(
            replace(item, sizes=tuple(size for size in item.sizes if size <= _LONGEST))
            for item in use.classes
        ),
    )


def rank(
    candidates: Sequence[Candidate],
    uarch: str,
    uses: Sequence[Use],
    on_done: Callable[[object], None] = lambda item: None,
) -> tuple[list[Decision], dict[str, str]]:
    """Return the model's decisions for these candidates, and why some kernels have no rank.

    `uarch` names a microarchitecture; if empty, each instruction set uses the first table whose CPU
    supports it completely.

    Raises:
        GhashgenError: the table or the emulator is missing.
    """
    names = (uarch_named(uarch).name,) if uarch else tuple(uarches())
    out: list[Decision] = []
    unranked: dict[str, str] = {}
    shown = {use: modelled(use) for use in uses}
    with Emulator() as emulator:
        for own in alike(candidates):
            found = {}
            for c in own:
                found[c] = executed(emulator, c, cells_of(served(c.kernel, shown.values())))
                on_done(c)
            code = [i for traces in found.values() for i in max(traces.values(), key=len)]
            table = suited(names, code)
            if table is None:
                isa = own[0].unit.isa
                why = f"the model of {' and of '.join(names)} lacks what isa {isa} needs"
                unranked |= dict.fromkeys((c.unit.name for c in own), why)
                continue
            cycles, left_out, holes = _cycles(found, table)
            unranked |= holes
            notes = (f"left out, no data: {', '.join(left_out)}",) if left_out else ()
            for use, sized in shown.items():
                able = {c: row for c, row in cycles.items() if served(c.kernel, (use,))}
                out += _decisions(able, table, use, sized, notes)
    return out, unranked


def _cycles(
    found: Mapping[Candidate, Mapping[Cell, Executed]], table: Uarch
) -> tuple[dict[Candidate, dict[Cell, float]], tuple[str, ...], dict[str, str]]:
    """Return cycles by cell, the forms left out, and kernels with too many of those."""
    cycles: dict[Candidate, dict[Cell, float]] = {}
    left_out: set[str] = set()
    holes: dict[str, str] = {}
    for candidate, traces in found.items():
        bounds = {cell: port_bound(trace, table) for cell, trace in traces.items()}
        missing = {form for bound in bounds.values() for form in bound.no_data}
        longest = max(traces.values(), key=len)
        unknown = sum(1 for instruction in longest if table.decoder.form(instruction) in missing)
        if missing and unknown > _HOLES * len(longest):
            forms = ", ".join(sorted(missing))
            holes[candidate.unit.name] = f"{table.name} has no data for {forms}"
            continue
        left_out |= missing
        cycles[candidate] = {cell: bound.cycles for cell, bound in bounds.items()}
    return cycles, tuple(sorted(left_out)), holes


def _decisions(
    cycles: Mapping[Candidate, Mapping[Cell, float]],
    table: Uarch,
    use: Use,
    sized: Use,
    notes: tuple[str, ...],
) -> list[Decision]:
    if not cycles:
        return []
    tables = [
        scored(cycles, [*product(use.modes[0], short.sizes)], lambda c, *cell: cycles[c].get(cell))
        for short in sized.classes
    ]
    winners = take(tables, lambda candidate: candidate.simplicity)
    return [
        Decision(use, item, MODEL, table.name, winner, found, found[winner], notes=notes)
        for item, found, winner in zip(use.classes, tables, winners, strict=True)
    ]
