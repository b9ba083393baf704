"""Ranks kernels that no machine here can run by the port model: a model, never a measurement.

For each size the emulator says which instructions a call of `update` executes, and the table of a
microarchitecture says in how many cycles its ports and its front end can take them at best. Latency
is not seen, so the figure is a lower bound, further from the truth the shorter the message.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.arch.decoder import Native
from ghashgen.arch.registry import uarch as uarch_named
from ghashgen.arch.registry import uarches
from ghashgen.arch.uarch import Uarch
from ghashgen.choice.chosen import MODEL
from ghashgen.choice.classes import SizeClass, geometric_mean, sizes_of
from ghashgen.cost.bound import port_bound
from ghashgen.kernels.families import functions_of
from ghashgen.lab.tune.choose import Decision, pick
from ghashgen.lab.tune.scores import best_first
from ghashgen.lab.tune.space import Candidate
from ghashgen.run.arguments import Values, arguments
from ghashgen.run.emulate import CallResult, Emulator
from ghashgen.run.emulate.calls import call_of
from ghashgen.run.emulate.image import Image
from ghashgen.run.emulate.outcome import decode_run
from ghashgen.support.errors import GhashgenError

_BUDGET = 10_000_000
"""Instructions; the longest message takes some ten thousand."""

_HOLES = 0.01
"""Part of the instructions of the longest message that the table may know nothing about: such
instructions are left out of the figure, which favours a kernel that has many of them."""

Executed = list[Native]


def executed(emulator: Emulator, candidate: Candidate, sizes: Sequence[int]) -> list[Executed]:
    """Return the instructions that `update` executes on a message of each size.

    The order is that of straight runs, each repeated as often as it was executed: a bound by ports
    does not depend on it.

    Raises:
        GhashgenError: the emulator is missing, or the code faults in it.
    """
    unit = candidate.unit
    image = emulator.load(unit.obj)
    functions = functions_of(candidate.kernel)

    def called(function: str, each: Sequence[Values]) -> list[CallResult]:
        exported, align = functions[function], unit.table_align
        made = [arguments(exported, values, unit.kernel.table_bytes, align) for values in each]
        calls = [replace(call_of(call, "sysv"), budget=_BUDGET) for call in made]
        return emulator.call_many(image, f"{unit.name}_{function}", calls)

    (init,) = called("init", [{"h": bytes(range(1, BLOCK_BYTES + 1))}])
    known = {"table": init.buffers["table"], "x": bytes(BLOCK_BYTES)}
    answers = called("update", [{**known, "in": bytes(size)} for size in sizes])
    for answer in (init, *answers):
        if not answer.outcome.ok:
            raise GhashgenError(f"{unit.name} in the emulator: {answer.outcome}", "validate it")
    return [_instructions(image, answer.runs) for answer in answers]


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


def rank(
    candidates: Sequence[Candidate],
    uarch: str,
    classes: Sequence[SizeClass],
    on_done: Callable[[object], None] = lambda item: None,
) -> tuple[list[Decision], dict[str, str]]:
    """Return the model's decisions for these candidates, and why some kernels have no rank.

    `uarch` names a microarchitecture; empty takes, for each instruction set, the first table whose
    CPU has all of it.

    Raises:
        GhashgenError: there is no such table, or no emulator.
    """
    names = (uarch_named(uarch).name,) if uarch else tuple(uarches())
    out: list[Decision] = []
    unranked: dict[str, str] = {}
    with Emulator() as emulator:
        for isa in dict.fromkeys(c.unit.isa for c in candidates):
            own = [c for c in candidates if c.unit.isa == isa]
            found = {}
            for c in own:
                found[c] = executed(emulator, c, sizes_of(tuple(classes)))
                on_done(c)
            code = [instruction for traces in found.values() for instruction in traces[-1]]
            table = suited(names, code)
            if table is None:
                why = f"the model of {' and of '.join(names)} lacks what isa {isa} needs"
                unranked |= dict.fromkeys((c.unit.name for c in own), why)
                continue
            cycles, left_out, holes = _cycles(found, table, classes)
            unranked |= holes
            notes = (f"left out, no data: {', '.join(left_out)}",) if left_out else ()
            out += _decisions(isa, cycles, table, classes, notes)
    return out, unranked


def _cycles(
    found: Mapping[Candidate, list[Executed]], table: Uarch, classes: Sequence[SizeClass]
) -> tuple[dict[Candidate, dict[int, float]], tuple[str, ...], dict[str, str]]:
    """Return cycles by size, the forms left out of them, and kernels with too many of those."""
    sizes = sizes_of(tuple(classes))
    cycles: dict[Candidate, dict[int, float]] = {}
    left_out: set[str] = set()
    holes: dict[str, str] = {}
    for candidate, traces in found.items():
        bounds = [port_bound(trace, table) for trace in traces]
        missing = {form for bound in bounds for form in bound.no_data}
        longest = max(traces, key=len)
        unknown = sum(1 for instruction in longest if table.decoder.form(instruction) in missing)
        if missing and unknown > _HOLES * len(longest):
            forms = ", ".join(sorted(missing))
            holes[candidate.unit.name] = f"{table.name} has no data for {forms}"
            continue
        left_out |= missing
        cycles[candidate] = {s: b.cycles for s, b in zip(sizes, bounds, strict=True)}
    return cycles, tuple(sorted(left_out)), holes


def _decisions(
    isa: str,
    cycles: Mapping[Candidate, Mapping[int, float]],
    table: Uarch,
    classes: Sequence[SizeClass],
    notes: tuple[str, ...],
) -> list[Decision]:
    out: list[Decision] = []
    taken: list[Candidate] = []
    for item in classes if cycles else ():
        scored = {c: geometric_mean([row[s] for s in item.sizes]) for c, row in cycles.items()}
        winner, order = pick(scored, taken), best_first(scored)
        taken.append(winner)
        runner_up = next((c for c in order if c != winner), None)
        out.append(
            Decision(
                isa=isa,
                size_class=item,
                basis=MODEL,
                on=table.name,
                stage="",
                winner=winner,
                cycles=scored[winner],
                fastest=order[0],
                behind=scored[winner] / scored[order[0]],
                runner_up=runner_up,
                ratio=scored[runner_up] / scored[winner] if runner_up else None,
                peer="",
                peer_ratio=None,
                fill_at=0,
                notes=notes,
            )
        )
    return out
