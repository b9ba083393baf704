"""ghashgen tune: find the kernel to take for each class of lengths, here or on a lab."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import click

from ghashgen.arch.registry import uarch as uarch_named
from ghashgen.arch.registry import uarches
from ghashgen.choice.chosen import BASES, Chosen, dump
from ghashgen.choice.questions import Use
from ghashgen.cli.verbs.options import (
    build_folder,
    choice_options,
    chosen_kernels,
    core_option,
    default_out,
    json_option,
    one_of,
    print_json,
    progress,
)
from ghashgen.kernels.selection import Choice, look_up
from ghashgen.kernels.target import target
from ghashgen.lab.bench.limits import refuse_architecture
from ghashgen.lab.store import open_store
from ghashgen.lab.tune.choose import Decision, chosen, decide
from ghashgen.lab.tune.goals import Goal, goals, served
from ghashgen.lab.tune.goals import quick as first_look
from ghashgen.lab.tune.measure import FINE, FIRST_LOOK, describe, measure
from ghashgen.lab.tune.rank import rank
from ghashgen.lab.tune.space import SPACES, Candidate, candidate, distinct, space
from ghashgen.lab.tune.sweep import Here, Plan, Runner, Swept, sweep
from ghashgen.lab.tune.table import LEGEND, numbered, rows
from ghashgen.lab.tune.table import as_json as decision_json
from ghashgen.output.folder import require_writable
from ghashgen.run.built import build
from ghashgen.support.errors import GhashgenError
from ghashgen.support.extras import require
from ghashgen.support.files import write_whole
from ghashgen.support.tables import say, show


def _uses() -> str:
    """Return the uses that each family's sweep decides, in words."""
    return "; ".join(
        f"{name}: {', '.join(use.name for use in goal.uses)}" for name, goal in goals().items()
    )


@click.command("tune")
@choice_options
@click.option(
    "--space",
    "kind",
    type=click.Choice(SPACES),
    default="catalogue",
    show_default=True,
    help="Kernels to measure; wide adds those that differ in one axis, and every block count.",
)
@click.option(
    "--use",
    "named",
    multiple=True,
    help=f"Choose a kernel for this use, by family: {_uses()}. Default: all.",
    shell_complete=one_of(lambda: (use.name for goal in goals().values() for use in goal.uses)),
)
@click.option(
    "--finalists",
    type=click.IntRange(1),
    default=4,
    show_default=True,
    help="Kernels to measure again for each class and ISA, in turns with peers.",
)
@click.option(
    "--budget",
    type=click.FloatRange(0),
    metavar="SECONDS",
    help="Start no batch of kernels after this time; the next call continues.",
)
@click.option(
    "--quick", is_flag=True, help="Take a first look: few sizes and samples, one run of the best."
)
@click.option("--fresh", is_flag=True, help="Measure everything again, even what the store has.")
@core_option
@click.option("--store", type=click.Path(path_type=Path), help="SQLite file for results.")
@click.option(
    "--write",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the chosen set to this file, for ghashgen generate --chosen.",
)
@click.option(
    "--uarch",
    default="",
    help="Microarchitecture whose port table ranks kernels that no machine here can run.",
    shell_complete=one_of(uarches),
)
@click.option(
    "--lab",
    "in_lab",
    is_flag=True,
    help="Measure on Dask workers; a local cluster unless --scheduler is given.",
)
@click.option(
    "--scheduler",
    default="",
    metavar="ADDRESS",
    help="The lab's Dask scheduler, as tcp://host:8786.",
)
@click.option(
    "--workers",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Workers of the local cluster; they measure in turns.",
)
@json_option
def COMMAND(
    choice: Choice,
    kind: str,
    named: tuple[str, ...],
    finalists: int,
    budget: float | None,
    quick: bool,
    fresh: bool,
    core: int,
    store: Path | None,
    write: Path | None,
    uarch: str,
    in_lab: bool,
    scheduler: str,
    workers: int,
    as_json: bool,
) -> None:
    """Measure kernels of one family and name the best for each ISA and class of message lengths.

    The best is the one with the least code among those within 5% of the fastest. The default is
    GHASH, or the first family that has the other options (--family chooses). For AES-GCM and
    AES-CTR, each use and key size has a best kernel. It measures all kernels coarsely, and then the
    best ones again, in turns with peers. Results are stored, so the next call continues an
    interrupted sweep. Kernels that no machine here can run are ranked by the port model, and
    marked.
    """
    if in_lab or scheduler:
        require("lab")
    _refuse_early(uarch, write)
    goal = _goal(choice)
    uses = first_look(goal.only(named)) if quick else goal.only(named)
    path = store or build_folder("tune.sqlite")
    with open_store(path) as opened:
        opened.require_writable()
    candidates, unable = _serving(_candidates(choice, kind, goal), uses)
    fine = FIRST_LOOK if quick else FINE
    plan = Plan(uses=uses, fine=fine, finalists=finalists, fresh=fresh, budget=budget)
    with open_store(path) as opened:
        with _runner(in_lab or bool(scheduler), scheduler, workers, core) as runner:
            swept = sweep(candidates, runner, opened, plan, progress)
        decisions = decide(
            candidates, swept.hosts, opened, (plan.fine, plan.coarse), plan.uses, swept.since
        )
    elsewhere, unfit = _unmeasurable(candidates, swept)
    modelled, unranked = _modelled(elsewhere, uarch, plan.uses)
    decisions += modelled
    left_out = {**unable, **unfit, **unranked, **_unnamed(decisions, plan.uses)}
    if as_json:
        print_json(_plain(swept, decisions, left_out, path))
    else:
        _print(swept, decisions, left_out)
        say(f"{swept.measured} kernels measured now; {path} already had {swept.kept}")
    if write is not None:
        if swept.out_of_time:
            raise GhashgenError(
                f"{write} is not written: the sweep is not finished", "run it again"
            )
        sets = _write(write, decisions).sets
        if not as_json:
            bases = Counter(f"{item.isa} ({item.basis})" for item in sets)
            said = ", ".join(f"{n} of {isa}" if n > 1 else isa for isa, n in bases.items())
            say(f"chosen set of {said} in {write}")


def _refuse_early(uarch: str, write: Path | None) -> None:
    """Refuse now what would otherwise fail after the sweep."""
    if uarch:
        uarch_named(uarch)
    if write is not None:
        require_writable(write.parent, "--write")
    if write is not None and write.suffix == ".toml":
        raise GhashgenError(f"{write}: a chosen set is JSON", f"name it {write.stem}.json")


def _modelled(
    elsewhere: Sequence[Candidate], uarch: str, uses: Sequence[Use]
) -> tuple[list[Decision], dict[str, str]]:
    """Return the model's decisions, or why there are none (no emulator)."""
    with progress("model", len(elsewhere)) as advance:
        try:
            return rank(elsewhere, uarch, uses, advance)
        except GhashgenError as refusal:
            return [], {c.unit.name: str(refusal) for c in elsewhere}


def _goal(choice: Choice) -> Goal:
    """Return the goal of the first family that has a chosen kernel, in the order of `goals`."""
    kernels = look_up(choice, "goal").kernels
    found = {kernel.family for kernel in kernels}
    if choice.name and len(found) > 1:
        raise GhashgenError(
            f"tune compares kernels of one family, and you chose {' and '.join(sorted(found))}",
            "choose one with --family",
        )
    return next(goal for family, goal in goals().items() if family in found)


def _candidates(choice: Choice, kind: str, goal: Goal) -> tuple[Candidate, ...]:
    if not choice.name:
        # This call says what it leaves out.
        chosen_kernels(choice.of(goal.family))
    kernels = space(choice, kind, goal)
    refuse_architecture(kernels)
    if {getattr(kernel, "op", "ghash") for kernel in kernels} != {"ghash"}:
        raise GhashgenError("tune compares only kernels of op ghash", "choose --op ghash")
    with progress("assemble", len(kernels)) as advance:
        built = build(kernels, target(), default_out(), build_folder("obj"), advance)
    return distinct(tuple(candidate(item) for item in built))


def _serving(
    candidates: Sequence[Candidate], uses: Sequence[Use]
) -> tuple[tuple[Candidate, ...], dict[str, str]]:
    """Return the candidates that some use can call, and why others are left out.

    Raises:
        GhashgenError: there is none.
    """
    able = tuple(item for item in candidates if served(item.kernel, uses))
    names = ", ".join(use.name for use in uses)
    why = f"it does not export what {names} takes"
    if not able:
        raise GhashgenError(
            f"none of these kernels exports what {names} needs",
            "choose another --use or other kernels",
        )
    return able, {item.unit.name: why for item in candidates if item not in able}


def _unnamed(decisions: Sequence[Decision], uses: Sequence[Use]) -> dict[str, str]:
    """Return why uses without any decision have none."""
    decided = {item.use.name for item in decisions}
    return {
        f"use {use.name}": "no kernel that can serve it has a figure"
        for use in uses
        if use.name not in decided
    }


@contextmanager
def _runner(in_lab: bool, scheduler: str, workers: int, core: int) -> Iterator[Runner]:
    if not in_lab:
        yield Here(describe(), partial(measure, core=core))
        return
    from ghashgen.lab.tune.lab import lab

    with lab(scheduler, workers) as runner:
        yield runner


def _unmeasurable(
    candidates: Sequence[Candidate], swept: Swept
) -> tuple[list[Candidate], dict[str, str]]:
    """Return the candidates of ISAs that no machine has, and why other single ones cannot run."""
    fit = {c.unit.name for c in candidates if any(host.runs(c.unit) for host in swept.hosts)}
    isas = {c.unit.isa for c in candidates if c.unit.name in fit}
    elsewhere = [c for c in candidates if c.unit.isa not in isas]
    features = set().union(*(host.features for host in swept.hosts))
    unfit = {
        c.unit.name: f"no machine here has {' '.join(sorted(set(c.unit.needs) - features))}"
        for c in candidates
        if c.unit.isa in isas and c.unit.name not in fit
    }
    return elsewhere, unfit


def _write(path: Path, decisions: Sequence[Decision]) -> Chosen:
    """Write the instruction sets that have a kernel for every class."""
    found = chosen(decisions)
    if not found.sets:
        raise GhashgenError("no ISA has a kernel for every class of lengths", "tune for longer")
    write_whole(path, dump(found), "choose another --write")
    return found


def _plain(
    swept: Swept, decisions: Sequence[Decision], left_out: dict[str, str], path: Path
) -> dict[str, object]:
    return {
        "machines": [{"cpu": host.cpu, "features": list(host.features)} for host in swept.hosts],
        "store": str(path),
        "measured_now": swept.measured,
        "measured_before": swept.kept,
        "out_of_time": swept.out_of_time,
        "failures": swept.failures,
        "left_out": left_out,
        "choices": [decision_json(item) for item in decisions],
    }


def _print(swept: Swept, decisions: Sequence[Decision], left_out: dict[str, str]) -> None:
    for host in swept.hosts:
        say(f"{host.cpu}: {' '.join(host.features)}")
    tables, notes = [], []
    for basis in BASES:
        found = [item for item in decisions if item.basis == basis]
        if not found:
            continue
        tables.append(rows(found, basis))
        notes += [f"{basis}: {number} {note}" for note, number in numbered(found).items()]
    show(*tables)
    for line in (*notes, LEGEND):
        say(line)
    for name, why in left_out.items():
        say(f"left out: {name}: {why}")
    for failure in swept.failures:
        say(f"not measured: {failure}")
    if swept.out_of_time:
        say("the budget ran out before the sweep was finished: run it again to continue")
